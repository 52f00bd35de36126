// Walks an index space tile by tile, the last axis fastest; edge tiles are smaller.
#pragma once

#include <algorithm>

#include "kernels/op_def.h"
#include "kernels/tile_builder.h"

namespace berth {

// Calls visit(box) for every tile of [0, extent); a space with an axis of extent 0 has no tile, one
// of rank 0 has one. Tile extents are >= 1.
template <typename Visit>
void ForEachTile(absl::Span<const int64_t> extent, absl::Span<const int64_t> tile, Visit&& visit) {
  const size_t rank = extent.size();
  for (const int64_t e : extent) {
    if (e == 0) return;
  }
  Box box;
  box.begin.assign(rank, 0);
  box.extent.assign(rank, 0);
  while (true) {
    for (size_t axis = 0; axis < rank; ++axis) {
      box.extent[axis] = std::min(tile[axis], extent[axis] - box.begin[axis]);
    }
    visit(static_cast<const Box&>(box));
    size_t axis = rank;
    while (axis > 0) {
      --axis;
      box.begin[axis] += tile[axis];
      if (box.begin[axis] < extent[axis]) break;
      box.begin[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 0) return;
  }
}

// A box of the part's own elements in the index space of the whole output.
inline Box InWhole(Box box, const OutputPart& part) {
  if (!part.is_whole()) box.begin[static_cast<size_t>(part.axis)] += part.range.begin;
  return box;
}

// One loop per axis of `shape`, the outermost shrinks first so that boxes stay contiguous.
IterationSpace AxisLoops(const Shape& shape);

}  // namespace berth
