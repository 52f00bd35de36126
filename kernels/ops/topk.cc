// TopK: the largest (or smallest) k elements along an axis with their positions; of equals the
// first. k is an attribute before opset 10, input 1 from then on. Runs on the host engine.
#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

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

}  // namespace

const OpDef& TopKOp() {
  static const OpDef def{.kind = OpKind::kTopK, .infer_types = TopKTypes};
  return def;
}

}  // namespace berth
