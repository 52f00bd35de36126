// The search for the tile shape that moves the fewest bytes.
//
// Free loops (those whose tiles decide how often an operand is read again) are enumerated; the
// loops of the chain are shrunk one after the other, only as far as the tile needs to fit, which is
// found by bisection because every step of the chain makes the tile smaller.
// Cost: O(product of the free loops' candidates x log(chain length)) evaluations.
#pragma once

#include <functional>
#include <vector>

#include "kernels/op_def.h"

namespace berth {

struct ReuseSearch {
  IterationSpace space;       // extents >= 1
  std::vector<size_t> chain;  // positions in `space`, in the order in which they shrink
  std::vector<size_t> free;
  std::function<bool(const TileShape&)> is_useful;  // asked of the free loops; null: yes
  std::function<void(TileShape&)> complete;  // sets loops that follow from the others; null: none
  std::function<TileCost(const TileShape&)> cost;
  std::function<int64_t(const TileShape&)> objective;
  const TileBudget& budget;
};

// Of equal objectives the first found. ResourceExhausted with the smallest tile's bytes if nothing
// fits.
absl::StatusOr<TileShape> SearchTile(const ReuseSearch& search);

}  // namespace berth
