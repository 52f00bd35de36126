// Views and boxes of a reduction's result, with its reduced axes as axes of extent 1 or left out.
#pragma once

#include "kernels/ops/reduce_axes.h"
#include "kernels/tile_builder.h"

namespace berth {

// The box of the output for a box of the input.
Box ReducedBox(const ReducedAxes& axes, const Box& input_box);
// A view over the output's box with all axes of the input, the reduced ones of extent 1.
TileView WithReducedAxes(const ReducedAxes& axes, const TileView& output_view);
// The extents of the input with 1 along the reduced axes (`reduced` true) or along the others.
std::vector<int64_t> KeptExtents(const ReducedAxes& axes, absl::Span<const int64_t> extents);
std::vector<int64_t> ReducedExtents(const ReducedAxes& axes, absl::Span<const int64_t> extents);
// The box that lies at `kept` along the kept axes and at `reduced` along the others.
Box CombineBoxes(const ReducedAxes& axes, const Box& kept, const Box& reduced);

}  // namespace berth
