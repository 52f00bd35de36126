// Arithmetic of strided views: which reshapes and slices only rename bytes.
#pragma once

#include <optional>
#include <vector>

#include "kernels/graph.h"
#include "kernels/tile_builder.h"

namespace berth {

// Byte strides of the dense row-major layout.
Extents DenseStrideBytes(const TensorType& type);

// Strides of the same bytes under `to`, or nothing when a merged axis is not contiguous.
std::optional<Extents> ReshapeStrides(const Shape& from, const Extents& stride_bytes,
                                      const Shape& to);

// True when the strides are those of the dense layout (axes of extent 1 do not matter).
bool IsDenseLayout(const TensorType& type, const Extents& stride_bytes);

// What a Slice node reads: begin and step per axis of its input. Nothing when a bound is not a
// compile-time value or a step is negative.
struct SliceWindow {
  std::vector<int64_t> begin, step;
};
std::optional<SliceWindow> ReadSliceWindow(const Graph& graph, const Node& node);

}  // namespace berth
