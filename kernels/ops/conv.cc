// Conv: convolution over 1 to 3 spatial axes, grouped, depthwise, dilated.
//
// Formula: ONNX Conv. Weights in kNchw [OC, IC/group, kernel...], in kNhwc [kernel..., IC/group,
// OC].
#include "kernels/ops/convolution.h"
#include "kernels/ops/ops.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferConv(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Convolution conv, ResolveConv(call));
  return ConvolutionType(call, conv);
}

}  // namespace

const OpDef& ConvOp() {
  static const OpDef op = {.kind = OpKind::kConv,
                           .infer_types = InferConv,
                           .part = ConvolutionPart,
                           .iteration_space = ConvolutionSpace,
                           .tile_cost = ConvolutionCost,
                           .lower = LowerConvolution,
                           .choose_tile = ChooseConvolutionTile};
  return op;
}

}  // namespace berth
