// Conv: convolution over 1 to 3 spatial axes, grouped, depthwise, dilated.
//
// Formula: ONNX Conv. Weights in kNchw [OC, IC/group, kernel...], in kNhwc [kernel..., IC/group, OC].
#include "kernels/ops/convolution.h"
#include "kernels/ops/ops.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferConv(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Convolution conv, ResolveConv(call));
  absl::InlinedVector<int64_t, 3> spatial;
  for (const WindowAxis& axis : conv.axes) spatial.push_back(axis.output);
  return std::vector<TensorType>{
      {call.input(0).dtype,
       ActivationShape(call.node->layout, conv.batch, spatial, conv.output_channels)}};
}

}  // namespace

const OpDef& ConvOp() {
  static const OpDef op = {.kind = OpKind::kConv, .infer_types = InferConv};
  return op;
}

}  // namespace berth
