// Where: all three operands broadcast together.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/ops.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> WhereTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kBool));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 2, DTypeClass::kAny));
  if (call.input(1).dtype != call.input(2).dtype) {
    return InvalidArgument("input 1 is {}, input 2 is {}", DTypeName(call.input(1).dtype),
                           DTypeName(call.input(2).dtype));
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, BroadcastInputs(call));
  return std::vector<TensorType>{{call.input(1).dtype, std::move(shape)}};
}

absl::StatusOr<VectorSteps> WhereSteps(const ElementwiseUse&) {
  VectorStep step;
  step.form = VectorStep::Form::kSelect;
  step.operands = {0, 1, 2};
  return VectorSteps{{step}};
}

}  // namespace

const OpDef& WhereOp() {
  static const OpDef def = ElementwiseOp(OpKind::kWhere, WhereTypes, WhereSteps);
  return def;
}

}  // namespace berth
