// Geometry of the ops that move a window over spatial axes (convolution, pooling).
//
// Formulas: ONNX operators Conv, ConvTranspose, MaxPool, AveragePool. In ceil mode a last window
// that would start beyond the input and its leading pad is left out (as PyTorch does).
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "kernels/op_def.h"

namespace berth {

struct AxisWindow {
  int64_t input = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 1;

  int64_t effective_kernel() const { return (kernel - 1) * dilation + 1; }
};
using AxisWindows = absl::InlinedVector<AxisWindow, 3>;

// Positions of the axes of an activation tensor of `rank`.
constexpr int ChannelAxis(DataLayout layout, int rank) {
  return layout == DataLayout::kNchw ? 1 : rank - 1;
}
constexpr int SpatialAxis(DataLayout layout, int spatial) {
  return (layout == DataLayout::kNchw ? 2 : 1) + spatial;
}
// The shape with `channels` and `spatial` extents in the order of the layout.
Shape ActivationShape(DataLayout layout, int64_t batch, absl::Span<const int64_t> spatial,
                      int64_t channels);

// Reads strides, dilations, pads, auto_pad (and ceil_mode) of the node for an input of this shape
// and computes the outputs. `kernel` has one extent for each spatial axis.
absl::StatusOr<AxisWindows> ResolveWindow(const Node& node, const Shape& input,
                                          absl::Span<const int64_t> kernel);

// The same for a transposed convolution: output_padding, output_shape; `input` is the op's input
// and `pad_*` are those of the forward convolution that it transposes.
absl::StatusOr<AxisWindows> ResolveTransposedWindow(const Node& node, const Shape& input,
                                                    absl::Span<const int64_t> kernel);

// The kernel extents of a pool, from its attribute.
absl::StatusOr<AxisWindows> ResolvePoolWindow(const OpCall& call);

// Restricts the outputs of kNhwc axes to a part; positions then count from its beginning.
void TakePart(const OutputPart& part, bool transposed, AxisWindows& axes);

// Error unless `shape` has batch, channel and 1 to 3 spatial axes.
absl::Status CheckSpatialRank(const Shape& shape);
// An attribute of `count` ints, each in [least, 2^15); `otherwise` for all when absent.
absl::StatusOr<std::vector<int64_t>> SpatialInts(const Node& node, std::string_view name, int count,
                                                 int64_t otherwise, int64_t least);

// A constant of rank 0 of a floating-point dtype.
Tensor ScalarTensor(DType dtype, double value);

}  // namespace berth
