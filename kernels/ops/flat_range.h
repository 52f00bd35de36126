// Runs of elements in row-major order as boxes of an index space.
#pragma once

#include <vector>

#include "kernels/tile_builder.h"

namespace berth {

// Elements [begin, end) of a tensor of this shape, in order, as at most 2 * rank - 1 boxes, each
// contiguous in row-major order.
std::vector<Box> BoxesOfFlatRange(const Shape& shape, int64_t begin, int64_t end);

// An extent per axis that every box of a flat range of `count` elements stays within.
Extents LargestFlatBox(const Shape& shape, int64_t count);

}  // namespace berth
