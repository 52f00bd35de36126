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
  return ConvolutionType(call, conv);
}

}  // namespace

const OpDef& ConvTransposeOp() {
  static const OpDef op = {.kind = OpKind::kConvTranspose,
                           .infer_types = InferConvTranspose,
                           .part = ConvolutionPart,
                           .iteration_space = ConvolutionSpace,
                           .tile_cost = ConvolutionCost,
                           .lower = LowerConvolution,
                           .choose_tile = ChooseConvolutionTile};
  return op;
}

}  // namespace berth
