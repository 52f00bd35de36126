// What Conv and ConvTranspose share: geometry, tile decisions and lowering.
//
// Both are a sum over taps and input channels of samples times weights; they differ in the layout
// of the weights and in the arithmetic of one axis (conv_axis.h).
#pragma once

#include <array>

#include "kernels/ops/conv_axis.h"
#include "kernels/spatial.h"

namespace berth {

struct Convolution {
  int64_t batch = 0;
  int64_t input_channels = 0;
  int64_t output_channels = 0;
  int64_t groups = 1;
  AxisWindows axes;  // as many as the node has
  bool transposed = false;
  // Of depth, height and width: sample i of `axes` is sample first + i * step of the input.
  struct Thinning {
    int64_t first = 0, step = 1;
  };
  std::array<Thinning, 3> thinning = {};

  int64_t group_inputs() const { return input_channels / groups; }
  int64_t group_outputs() const { return output_channels / groups; }
  bool depthwise() const { return groups > 1 && group_inputs() == 1; }
  // Depth, height and width; axes that the node lacks are of extent 1.
  AxisWindow axis3(int i) const {
    const int missing = 3 - static_cast<int>(axes.size());
    return i < missing ? AxisWindow{} : axes[static_cast<size_t>(i - missing)];
  }
};

absl::StatusOr<Convolution> ResolveConv(const OpCall& call);
absl::StatusOr<Convolution> ResolveConvTranspose(const OpCall& call);
// Of a node whose types have been inferred, restricted to the part of the call.
Convolution ResolveConvolution(const OpCall& call);
// The same, where windows of one sample that skip some are of the samples that are read only.
Convolution ResolveThinned(const OpCall& call);
std::optional<PartRead> ConvolutionPart(const OpCall& call, int input, int axis,
                                        IndexRange outputs);
std::vector<TensorType> ConvolutionType(const OpCall& call, const Convolution& conv);

// Loops of the iteration space, in this order. Channels are counted inside one group. The last two
// say what one command computes of a tile: its rows and its channels.
enum ConvLoop : size_t {
  kConvBatch,
  kConvDepth,
  kConvHeight,
  kConvWidth,
  kConvGroup,
  kConvOut,
  kConvIn,
  kConvCommandRows,
  kConvCommandChannels,
};
IterationSpace ConvolutionSpace(const OpCall& call);
TileCost ConvolutionCost(const OpCall& call, const TileShape& tile);
absl::StatusOr<TileShape> ChooseConvolutionTile(const OpCall& call, const TileBudget& budget);
absl::Status LowerConvolution(const OpCall& call, const TileShape& tile, TileBuilder& builder);

// A tile that holds a part of a group holds nothing of others; a tile that sums over several tiles
// of input channels keeps all its sums, so that nothing is gained by smaller commands.
TileShape NormalizedConvolutionTile(const Convolution& conv, TileShape tile);
// Whether a tile takes the rows that it shares with the one above it from there.
bool RollsDown(const Convolution& conv, const TileShape& tile);
// Weights stay while the tiles move over the image, or the image stays while they move over output
// channels: whichever moves fewer bytes.
bool WeightsOuter(const OpCall& call, const Convolution& conv, const TileShape& tile);

}  // namespace berth
