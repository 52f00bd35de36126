// What a transfer costs DRAM, as tile searches count it.
#pragma once

#include <cstdint>

#include "base/checked_math.h"

namespace berth {

// Bytes that could have moved in the time that the transfers of one tile take to start.
inline constexpr int64_t kTileOverheadBytes = 1024;

// Most bytes that an accumulator loses to the alignment of the next.
inline constexpr int64_t kAccumulatorPadBytes = 60;

// Bytes that a transfer in runs of `run_bytes` (0: one run) really moves: DRAM works in bursts.
inline int64_t MovedBytes(int64_t bytes, int64_t run_bytes) {
  constexpr int64_t kBurstBytes = 64;
  if (run_bytes >= 16 * kBurstBytes || run_bytes == 0) return bytes;
  return bytes / run_bytes * AlignUp(run_bytes + kBurstBytes / 2, kBurstBytes);
}

}  // namespace berth
