// Concat along one axis (opset 1: axis 1 unless given).
#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"

namespace berth {
namespace {

absl::StatusOr<int> ConcatAxis(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  if (call.node->opset >= 4 && !attributes.Has("axis")) {
    return InvalidArgument("attribute axis is missing");
  }
  return NormalizeAxis(attributes.Int("axis", 1), call.input(0).shape.rank());
}

absl::StatusOr<std::vector<TensorType>> ConcatTypes(const OpCall& call) {
  if (call.inputs.empty()) return InvalidArgument("no inputs");
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const int axis, ConcatAxis(call));
  TensorType result = call.input(0);
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kAny));
    const TensorType& input = call.input(i);
    TensorType expected = result;
    if (input.shape.rank() == result.shape.rank()) expected.shape[axis] = input.shape[axis];
    if (input != expected) {
      return InvalidArgument("input {} is {}, input 0 is {}: they do not join along axis {}", i,
                             input.ToString(), call.input(0).ToString(), axis);
    }
    const auto extent = CheckedAdd(result.shape[axis], input.shape[axis]);
    if (!extent) return InvalidArgument("axis {} overflows", axis);
    result.shape[axis] = *extent;
  }
  BERTH_ASSIGN_OR_RETURN(result.shape, Shape::Create(result.shape.extents()));
  return std::vector<TensorType>{std::move(result)};
}

}  // namespace

const OpDef& ConcatOp() {
  static const OpDef def{
      .kind = OpKind::kConcat, .infer_types = ConcatTypes, .view = ViewKind::kConcat};
  return def;
}

}  // namespace berth
