// ConvTranspose: the transposed convolution over 1 to 3 spatial axes, grouped, dilated.
//
// Formula: ONNX ConvTranspose. Weights in kNchw [IC, OC/group, kernel...], in kNhwc
// [kernel..., IC, OC/group].
#include "kernels/ops/convolution.h"
#include "kernels/ops/ops.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferConvTranspose(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Convolution conv, ResolveConvTranspose(call));
  absl::InlinedVector<int64_t, 3> spatial;
  for (const WindowAxis& axis : conv.axes) spatial.push_back(axis.output);
  return std::vector<TensorType>{
      {call.input(0).dtype,
       ActivationShape(call.node->layout, conv.batch, spatial, conv.output_channels)}};
}

}  // namespace

const OpDef& ConvTransposeOp() {
  static const OpDef op = {.kind = OpKind::kConvTranspose, .infer_types = InferConvTranspose};
  return op;
}

}  // namespace berth
