// TopK: the largest (or smallest) k elements along an axis with their positions; of equals the
// first. k is an attribute before opset 10, input 1 from then on. Runs on the host engine.
#include <algorithm>

#include "kernels/host_functions.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/tile_builder.h"

namespace berth {
namespace {

absl::StatusOr<int64_t> TopCount(const OpCall& call) {
  if (call.node->opset < 10) return call.node->attributes.Int("k", -1);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> k, IntOperand(call, 1, "k"));
  if (k.size() != 1) return InvalidArgument("k has {} elements", k.size());
  return k[0];
}

absl::StatusOr<std::vector<TensorType>> TopKTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, call.node->opset < 10 ? 1 : 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  Shape shape = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", -1), shape.rank()));
  BERTH_ASSIGN_OR_RETURN(const int64_t k, TopCount(call));
  if (k < 0 || k > shape[axis]) {
    return InvalidArgument("k {} is outside [0, {}]", k, shape[axis]);
  }
  shape[axis] = k;
  std::vector<TensorType> types{{call.input(0).dtype, shape}, {DType::kInt64, shape}};
  types.resize(std::min(types.size(), call.node->outputs.size()));
  return types;
}

// One command for the whole tensor: there is nothing to tile.
IterationSpace TopKSpace(const OpCall&) { return {}; }
TileCost TopKCost(const OpCall&, const TileShape&) { return {}; }

absl::Status LowerTopK(const OpCall& call, const TileShape&, TileBuilder& builder) {
  const Node& node = *call.node;
  const Shape& shape = call.input(0).shape;
  const int axis = *NormalizeAxis(node.attributes.Int("axis", -1), shape.rank());
  BERTH_ASSIGN_OR_RETURN(const int64_t k, TopCount(call));
  if (k == 0 || shape.ElementCount() == 0) return absl::OkStatus();
  Command command;
  command.opcode = Opcode::kHostCall;
  command.params.host = {};
  HostParams& host = command.params.host;
  host.function = static_cast<uint32_t>(HostFunctionId::kTopK);
  host.values[0] = shape.Product(0, axis);
  host.values[1] = shape[axis];
  host.values[2] = shape.Product(axis + 1, shape.rank());
  host.values[3] = k;
  host.values[4] = node.attributes.Int("largest", 1) != 0 ? 1 : 0;
  command.in0 = builder.HostOperand(node.inputs[0]);
  Operand* const results[] = {&command.out, &command.in1};
  const uint32_t masks[] = {1u << 0, 1u << 2};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ValueId::kNone) continue;
    *results[i] = builder.HostOperand(node.outputs[i]);
    host.output_mask |= masks[i];
  }
  builder.Emit(command);
  return builder.status();
}

}  // namespace

const OpDef& TopKOp() {
  static const OpDef def{.kind = OpKind::kTopK,
                         .infer_types = TopKTypes,
                         .iteration_space = TopKSpace,
                         .tile_cost = TopKCost,
                         .lower = LowerTopK,
                         .needs_dense = true};
  return def;
}

}  // namespace berth
