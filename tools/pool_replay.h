// Replays a trace of allocations against the dynamic pool and against the process's malloc: what
// one allocation with its free costs, and what memory stands behind the bytes that are live.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "runtime/pool/pool_trace.h"

namespace berth {

struct PoolReplayOptions {
  int repeats = 51;         // of the whole trace, timed apart
  int64_t limit_bytes = 0;  // of the pool; 0: none
};

// What a thread needs for one allocation and its free: wall time of the replay by the number of
// allocations that each thread makes.
struct PairTime {
  double median_ns = 0;
  double best_ns = 0;  // of all repeats: what a busy host disturbs least
};

struct PoolReplayTimes {
  int threads = 1;
  PairTime pool, malloc;
};

struct PoolReplayMemory {
  int64_t peak_live_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  // Pages of the process, over those before the replay, when one byte of each page of a block is
  // written: the most of any moment when at least nine tenths of the peak were live.
  int64_t pool_resident_bytes = 0, malloc_resident_bytes = 0;
  // After Trim at the moment when the most bytes are live, and at the end.
  int64_t trimmed_live_bytes = 0, trimmed_reserved_bytes = 0, end_reserved_bytes = 0;
};

// Every thread replays the whole trace, in its own lane.
absl::StatusOr<PoolReplayTimes> TimePoolReplay(const std::vector<PoolEvent>& trace, int threads,
                                               const PoolReplayOptions& options);
absl::StatusOr<PoolReplayMemory> MeasurePoolReplay(const std::vector<PoolEvent>& trace,
                                                   const PoolReplayOptions& options);

}  // namespace berth
