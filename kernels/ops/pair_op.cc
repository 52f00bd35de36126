#include "kernels/ops/pair_op.h"

#include "kernels/ops/elementwise.h"
#include "kernels/ops/legacy_broadcast.h"
#include "kernels/vector_steps.h"

namespace berth {

absl::Status CheckSameDType(const OpCall& call) {
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    if (call.input(i).dtype != call.input(0).dtype) {
      return InvalidArgument("input {} is {}, input 0 is {}", i, DTypeName(call.input(i).dtype),
                             DTypeName(call.input(0).dtype));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> PairShape(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Shape second, LegacyOperandShape(call));
  return BroadcastShapes(call.input(0).shape, second);
}

absl::StatusOr<std::vector<TensorType>> PairTypes(const OpCall& call, DTypeClass dtype_class,
                                                  DType result) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  for (int i = 0; i < 2; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, dtype_class));
  BERTH_RETURN_IF_ERROR(CheckSameDType(call));
  BERTH_ASSIGN_OR_RETURN(Shape shape, PairShape(call));
  const DType dtype = result == DType::kUndefined ? call.input(0).dtype : result;
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

OpDef PairOp(OpKind kind, TypeRule infer_types, StepRule vector_steps) {
  OpDef def = ElementwiseOp(kind, infer_types, vector_steps);
  def.expand = ExpandLegacyBroadcast;
  def.expands = IsLegacyBroadcast;
  return def;
}

}  // namespace berth
