#include <algorithm>

#include "kernels/op_def.h"
#include "planner/storage/storage.h"

namespace berth {

std::vector<ValueId> InPlaceCandidates(const Graph& graph, const Node& node) {
  std::vector<ValueId> candidates;
  const TensorType& out = graph.at(node.outputs[0]).type;
  const OpDef& op = GetOpDef(node.kind);
  if (op.in_place != nullptr) {
    const NodeCall call(graph, node);
    for (const int input : op.in_place(call.call())) {
      candidates.push_back(node.inputs[static_cast<size_t>(input)]);
    }
  }
  // What the node itself reads may be needed beyond the element (a halo, a whole row).
  const auto read_by_node = [&](ValueId id) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  };
  for (const FusedOp& fused : node.tail) {
    for (const ValueId operand : fused.operands) {
      if (operand != ValueId::kNone && !read_by_node(operand)) candidates.push_back(operand);
    }
  }
  std::erase_if(candidates, [&](ValueId id) {
    const TensorType& type = graph.at(id).type;
    return type.shape != out.shape || DTypeBytes(type.dtype) != DTypeBytes(out.dtype);
  });
  return candidates;
}

}  // namespace berth
