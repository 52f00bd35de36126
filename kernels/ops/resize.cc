// Resize and Upsample: resampling along each axis in turn.
//
// Formula: ONNX Resize, Upsample (see resize_axis.h).
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/resize_axis.h"
#include "kernels/ops/resize_lower.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferResize(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 4));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const ResizePlan plan, ResolveResize(call));
  const DType dtype = call.input(0).dtype;
  if (plan.mode != ResizeMode::kNearest && !IsFloat(dtype)) {
    return Unimplemented("interpolation of {} is not supported", DTypeName(dtype));
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(plan.output_extents));
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

}  // namespace

const OpDef& ResizeOp() {
  static const OpDef op = {.kind = OpKind::kResize,
                           .infer_types = InferResize,
                           .part = ResizePart,
                           .iteration_space = ResizeSpace,
                           .tile_cost = ResizeCost,
                           .lower = LowerResize};
  return op;
}
const OpDef& UpsampleOp() {
  static const OpDef op = {.kind = OpKind::kUpsample,
                           .infer_types = InferResize,
                           .part = ResizePart,
                           .iteration_space = ResizeSpace,
                           .tile_cost = ResizeCost,
                           .lower = LowerResize};
  return op;
}

}  // namespace berth
