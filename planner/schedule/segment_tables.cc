// What the lowering of segments works out once for a graph.
#include <algorithm>

#include "planner/schedule/segment_lowering.h"

namespace berth {
namespace {

bool IsComparison(OpKind kind) {
  switch (kind) {
    case OpKind::kEqual:
    case OpKind::kGreater:
    case OpKind::kGreaterOrEqual:
    case OpKind::kLess:
    case OpKind::kLessOrEqual:
    case OpKind::kArgMax:
    case OpKind::kArgMin:
    case OpKind::kTopK:
      return true;
    default:
      return false;
  }
}

bool ComparesFloats(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const bool compares = IsComparison(node.kind) ||
                          std::any_of(node.tail.begin(), node.tail.end(),
                                      [](const FusedOp& op) { return IsComparison(op.kind); });
    return compares && !node.inputs.empty() && node.inputs[0] != ValueId::kNone &&
           IsFloat(graph.at(node.inputs[0]).type.dtype);
  });
}

}  // namespace

SegmentTables::SegmentTables(const Graph& graph)
    : uses(ComputeUses(graph)), reads(graph, uses), whole_sums(ComparesFloats(graph)) {}

}  // namespace berth
