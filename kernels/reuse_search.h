// The search for the tile shape that moves the fewest bytes.
//
// Free loops (those whose tiles decide how often an operand is read again) are enumerated; the
// loops of the chain are shrunk one after the other, only as far as the tile needs to fit, which is
// found by bisection because every step of the chain makes the tile smaller.
// Cost: O(product of the free loops' candidates x log(chain length)) evaluations.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/op_def.h"

namespace berth {

struct ReuseSearch {
  IterationSpace space;
  std::vector<size_t> chain;  // positions in `space`, in the order in which they shrink
  std::vector<size_t> free;
  std::function<bool(const TileShape&)> is_useful;  // of free loops only; others are skipped
  std::function<bool(const TileShape&)> fits;
  std::function<int64_t(const TileShape&)> objective;
};

// Of equal objectives the first found. Empty if nothing fits. The extents must be >= 1.
std::optional<TileShape> SearchTile(const ReuseSearch& search);

TileShape SmallestTile(const IterationSpace& space);

}  // namespace berth
