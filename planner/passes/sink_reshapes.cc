#include "planner/passes/sink_reshapes.h"

#include <algorithm>

#include "kernels/op_def.h"
#include "planner/passes/graph_edit.h"

namespace berth {
namespace {

class Sinker {
 public:
  explicit Sinker(Graph& graph) : graph_(graph), reader_(SingleReaders(graph)), names_(graph) {}

  void Run() {
    maker_.assign(graph_.values.size(), -1);
    for (Node& node : graph_.nodes) {
      const int operand = ReshapedOperand(node);
      if (operand < 0) {
        Append(std::move(node));
      } else {
        Swap(std::move(node), static_cast<size_t>(operand));
      }
    }
    graph_.nodes = std::move(nodes_);
    RemoveNodes(graph_, removed_);
  }

 private:
  void Append(Node node) {
    for (const ValueId id : node.outputs) {
      if (id == ValueId::kNone) continue;
      maker_.resize(std::max(maker_.size(), Index(id) + 1), -1);
      maker_[Index(id)] = static_cast<int>(nodes_.size());
    }
    nodes_.push_back(std::move(node));
    removed_.push_back(false);
  }

  // The operand that a Reshape makes and that may be read before it; -1: none.
  int ReshapedOperand(const Node& node) const {
    if (!GetOpDef(node.kind).elementwise || node.outputs.size() != 1 || !node.tail.empty()) {
      return -1;
    }
    int reshaped = -1;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == ValueId::kNone) continue;
      const Value& value = graph_.at(id);
      if (value.constant && value.type.shape.rank() == 0) continue;
      if (reshaped >= 0 || !IsOwnReshape(id)) return -1;
      if (value.type.shape != graph_.at(node.outputs[0]).type.shape) return -1;
      reshaped = static_cast<int>(i);
    }
    return reshaped;
  }

  bool IsOwnReshape(ValueId id) const {
    const int maker = Index(id) < maker_.size() ? maker_[Index(id)] : -1;
    if (maker < 0 || !IsReadOnce(id)) return false;
    const Node& reshape = nodes_[static_cast<size_t>(maker)];
    if (reshape.kind != OpKind::kReshape || !reshape.tail.empty()) return false;
    const ValueId source = reshape.inputs[0];
    const bool computed = Index(source) < maker_.size() && maker_[Index(source)] >= 0;
    return computed && IsReadOnce(source);
  }

  // Values added here are read by one Reshape.
  bool IsReadOnce(ValueId id) const {
    return Index(id) >= reader_.size() || reader_[Index(id)] >= 0;
  }

  void Swap(Node node, size_t operand) {
    const ValueId result = node.outputs[0];
    const auto maker = static_cast<size_t>(maker_[Index(node.inputs[operand])]);
    const ValueId source = nodes_[maker].inputs[0];
    removed_[maker] = true;
    const TensorType type{graph_.at(result).type.dtype, graph_.at(source).type.shape};
    const ValueId before = graph_.AddValue(names_.Fresh(node.name + "/sunk"), type);
    node.inputs[operand] = source;
    node.outputs[0] = before;
    const std::string name = names_.Fresh(node.name + "/reshape");
    Append(std::move(node));
    Append(MakeReshape(graph_, name, before, result));
  }

  Graph& graph_;
  std::vector<int> reader_;  // of the values that were there at the start
  NameSource names_;
  std::vector<int> maker_;   // position in nodes_
  std::vector<Node> nodes_;
  std::vector<bool> removed_;
};

}  // namespace

absl::Status SinkReshapes(Graph& graph) {
  Sinker(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
