// ArgMax and ArgMin along one axis.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_axes.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> ArgTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  const Shape& shape = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, 0));
  if (shape[axis] == 0) {
    return InvalidArgument("axis {} of shape {} has no element", axis, shape.ToString());
  }
  ReducedAxes axes;
  axes.reduced.assign(static_cast<size_t>(shape.rank()), false);
  axes.reduced[static_cast<size_t>(axis)] = true;
  axes.keep_dims = call.node->attributes.Int("keepdims", 1) != 0;
  return std::vector<TensorType>{{DType::kInt64, axes.OutputShape(shape)}};
}

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = ArgTypes;
  return def;
}

}  // namespace

const OpDef& ArgMaxOp() {
  static const OpDef def = Define(OpKind::kArgMax);
  return def;
}

const OpDef& ArgMinOp() {
  static const OpDef def = Define(OpKind::kArgMin);
  return def;
}

}  // namespace berth
