// What an ExpandRule writes into: appends nodes, types and constants to a graph under construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// Nodes made here have the meaning of this version of the operator set, whatever the model's.
inline constexpr int kRewriteOpset = 17;

class GraphRewriter {
 public:
  // New nodes are appended to `nodes`; new values go into `graph`. `origin` names the node being
  // expanded (new names are "<origin>/<suffix>").
  GraphRewriter(Graph& graph, std::vector<Node>& nodes, const Node& origin);

  const Graph& graph() const { return graph_; }
  const TensorType& TypeOf(ValueId id) const { return graph_.at(id).type; }

  ValueId Constant(Tensor tensor);
  ValueId ScalarF32(float value);                      // shape {}
  ValueId Int64s(const std::vector<int64_t>& values);  // shape {n}

  // Appends a node with one output, infers its type, and returns the output; errors are sticky
  // (status()). With `result` given the node writes that value instead of a new one.
  ValueId Apply(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {},
                ValueId result = ValueId::kNone);
  // As Apply, with the layout of spatial ops.
  ValueId ApplyNode(Node node, ValueId result = ValueId::kNone);
  // Makes `result` (an output of the origin) equal to `value`, by an Identity.
  void Alias(ValueId value, ValueId result);

  absl::Status status() const { return status_; }
  // For what no single node is wrong with; keeps an earlier error.
  void Fail(absl::Status status);

 private:
  Graph& graph_;
  std::vector<Node>& nodes_;
  const Node& origin_;
  int suffix_ = 0;
  absl::Status status_;
};

}  // namespace berth
