// The end of a matrix tile, the same for convolutions and matrix products: bias over the output
// channels (input 2 of the node), activation or requantization, the rest of the tail, and the
// store.
#pragma once

#include "kernels/ops/conv_axis.h"
#include "kernels/ops/quantized_product.h"
#include "kernels/tail.h"

namespace berth {

class MatrixStage {
 public:
  MatrixStage(const OpCall& call, TileBuilder& builder);

  // The bias of these output channels in the accumulators' dtype; rank 0 where there is none.
  TileView LoadBias(IndexRange channels);

  // Of integer operands; for every command of the product.
  void SetZeroPoints(Command& command) const;
  // Makes the command write `out` (whose axes `axes` are its first three loops) with bias and
  // activation.
  void WriteOut(const TileView& out, std::array<int, 3> axes, const TileView& bias,
                Command& command) const;

  // The rest of the tail over the finished tile, and its store as `box` of output 0.
  void Finish(const Box& box, const TileView& tile);
  // The same where no output stage took the activation over.
  void FinishWhole(const Box& box, const TileView& tile);

 private:
  const Node& node_;
  const bool has_bias_;
  const AbsorbedTail absorbed_;
  const std::optional<QuantizedProduct> quantized_;
  TileBuilder& builder_;
  IndexRange wide_channels_;  // of the widened bias
  TileView wide_bias_;
};

}  // namespace berth
