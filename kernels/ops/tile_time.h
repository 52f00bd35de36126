// What tile searches minimise: the time that an op takes with a tile, on its machine.
#pragma once

#include <algorithm>

#include "npu_sim/config.h"
#include "npu_sim/timing.h"

namespace berth {

struct TileTime {
  int64_t matrix_cycles = 0;
  int64_t moved_bytes = 0;    // between DRAM and scratchpad, beside the computation
  int64_t exposed_bytes = 0;  // while nothing can be computed
};

// The longer of computation and transfers and a share of the other, since they overlap imperfectly;
// transfers once more, for energy and for what else needs them.
inline int64_t TotalCycles(const TileTime& time, const DramConfig& dram) {
  constexpr int64_t kImperfectPercent = 20;
  const int64_t dram_cycles = PeakDramCycles(time.moved_bytes, dram);
  const int64_t longer = std::max(time.matrix_cycles, dram_cycles);
  const int64_t other = std::min(time.matrix_cycles, dram_cycles);
  return longer + other * kImperfectPercent / 100 + dram_cycles +
         PeakDramCycles(time.exposed_bytes, dram);
}

// Calls visit(size, count) for the tiles of `tile` of an extent: full ones and the rest.
template <typename Visit>
void ForTileSizes(int64_t extent, int64_t tile, Visit&& visit) {
  if (extent / tile > 0) visit(tile, extent / tile);
  if (extent % tile > 0) visit(extent % tile, int64_t{1});
}

}  // namespace berth
