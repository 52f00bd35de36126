#include "planner/passes/to_nhwc.h"

#include "kernels/op_def.h"
#include "planner/passes/eliminate_identities.h"
#include "planner/passes/layout_rules.h"
#include "planner/passes/placements.h"

namespace berth {
namespace {

Permutation PermOf(const Node& node, int rank) {
  const std::vector<int64_t> given = node.attributes.Ints("perm");
  Permutation perm(given.begin(), given.end());
  if (perm.empty()) {
    for (int axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  return perm;
}

// Ops that give their result in the order of their operands.
bool PassesOrderOn(OpKind kind) {
  return GetOpDef(kind).elementwise || kind == OpKind::kConcat || kind == OpKind::kPad ||
         kind == OpKind::kSlice;
}

// Which values a spatial op reads as its data, perhaps through ops that pass the order on.
std::vector<bool> FeedsSpatial(const Graph& graph) {
  std::vector<bool> feeds(graph.values.size());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (IsSpatial(node.kind)) {
      feeds[Index(node.inputs[0])] = true;
    } else if (PassesOrderOn(node.kind) && feeds[Index(node.outputs[0])]) {
      for (const ValueId id : node.inputs) {
        if (id != ValueId::kNone) feeds[Index(id)] = true;
      }
    }
  }
  return feeds;
}

class LayoutPass {
 public:
  explicit LayoutPass(Graph& graph)
      : graph_(graph),
        feeds_spatial_(FeedsSpatial(graph)),
        model_nodes_(std::move(graph.nodes)),
        placements_(graph, nodes_) {
    graph.nodes.clear();
  }

  absl::Status Run() {
    for (const Node& node : model_nodes_) BERTH_RETURN_IF_ERROR(Visit(node));
    for (ValueId& id : graph_.outputs) id = placements_.GetNatural(id);
    graph_.nodes = std::move(nodes_);
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(const Node& node) {
    if (node.kind == OpKind::kTranspose && node.tail.empty()) {
      const int rank = graph_.at(node.inputs[0]).type.shape.rank();
      placements_.Rename(node.inputs[0], PermOf(node, rank), node.outputs[0]);
      return absl::OkStatus();
    }
    const NodeCall call(graph_, node);
    LayoutContext context{graph_, placements_, feeds_spatial_};
    std::optional<PermutedNode> permuted = PermuteNode(call.call(), context);
    if (!permuted) permuted = AsTheModelHasIt(node);
    return Emit(node, *std::move(permuted));
  }

  PermutedNode AsTheModelHasIt(const Node& node) {
    PermutedNode result{node, {}};
    if (!node.outputs.empty() && node.outputs[0] != ValueId::kNone) {
      result.output_order = IdentityPermutation(graph_.at(node.outputs[0]).type.shape.rank());
    }
    for (ValueId& id : result.node.inputs) {
      if (id != ValueId::kNone) id = placements_.GetNatural(id);
    }
    for (FusedOp& fused : result.node.tail) {
      for (ValueId& id : fused.operands) {
        if (id != ValueId::kNone) id = placements_.GetNatural(id);
      }
    }
    return result;
  }

  absl::Status Emit(const Node& node, PermutedNode permuted) {
    Node& out = permuted.node;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == ValueId::kNone) continue;
      out.outputs[i] = i == 0 ? placements_.Define(id, permuted.output_order) : id;
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferNodeTypes(graph_, out));
    for (size_t i = 0; i < types.size(); ++i) {
      if (out.outputs[i] == ValueId::kNone || types[i] == graph_.at(out.outputs[i]).type) continue;
      return Internal("layout pass: {} '{}' gives {} for '{}' of type {}", OpName(out.kind),
                      out.name, types[i].ToString(), graph_.at(out.outputs[i]).name,
                      graph_.at(out.outputs[i]).type.ToString());
    }
    nodes_.push_back(std::move(out));
    return absl::OkStatus();
  }

  Graph& graph_;
  const std::vector<bool> feeds_spatial_;
  const std::vector<Node> model_nodes_;
  std::vector<Node> nodes_;
  Placements placements_;
};

}  // namespace

absl::Status ToNhwc(Graph& graph) {
  BERTH_RETURN_IF_ERROR(LayoutPass(graph).Run());
  return EliminateDead(graph);
}

}  // namespace berth
