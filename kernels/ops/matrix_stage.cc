#include "kernels/ops/matrix_stage.h"

namespace berth {

MatrixStage::MatrixStage(const OpCall& call, TileBuilder& builder)
    : node_(*call.node),
      has_bias_(call.HasInput(2)),
      absorbed_(IsQuantizedProduct(*call.node) ? AbsorbedTail{}
                                               : AbsorbActivation(builder.graph(), *call.node)),
      quantized_(IsQuantizedProduct(*call.node) ? std::optional(QuantizedProductOf(*call.node))
                                                : std::nullopt),
      builder_(builder) {}

TileView MatrixStage::LoadBias(IndexRange channels) {
  if (!has_bias_) return {};
  const Box box{{channels.begin}, {channels.count}};
  const TileView bias = builder_.LoadHeld(node_.inputs[2], box, "bias");
  if (bias.dtype == DType::kFloat32 || quantized_) return bias;
  if (wide_bias_.rank() == 0 || wide_channels_ != channels) {
    wide_bias_ = builder_.NewTile(DType::kFloat32, {channels.count}, "wide bias");
    wide_channels_ = channels;
    builder_.Cast(wide_bias_, bias);
  }
  return wide_bias_;
}

void MatrixStage::SetZeroPoints(Command& command) const {
  if (!quantized_) return;
  command.params.matrix.in0_zero_point = quantized_->x_zero_point;
  command.params.matrix.in1_zero_point = quantized_->w_zero_point;
}

void MatrixStage::WriteOut(const TileView& out, std::array<int, 3> axes, const TileView& bias,
                           Command& command) const {
  command.flags |= kFlagWriteOut;
  command.out = TileBuilder::Operand4(out, {axes[0], axes[1], axes[2], -1});
  if (bias.rank() > 0) command.in2 = TileBuilder::Operand4(bias, {-1, -1, 0, -1});
  if (quantized_) return SetOutputStage(*quantized_, command.params.matrix);
  command.params.matrix.activation = absorbed_.activation;
  command.params.matrix.activation_alpha = absorbed_.alpha;
  command.params.matrix.activation_beta = absorbed_.beta;
}

void MatrixStage::Finish(const Box& box, const TileView& tile) {
  builder_.Store(node_.outputs[0], box, EmitTail(node_, absorbed_.ops, box, tile, builder_));
}

void MatrixStage::FinishWhole(const Box& box, const TileView& tile) {
  builder_.Store(node_.outputs[0], box, EmitTail(node_, 0, box, tile, builder_));
}

}  // namespace berth
