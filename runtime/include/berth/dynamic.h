// What a dynamic model needs to run beside its bundle: how graphs of known shapes become programs,
// and how much memory its programs and buffers may take.
#pragma once

#include <cstdint>

#include "runtime/bundle/lowering.h"

namespace berth {

struct DynamicOptions {
  // Fast, for a shape that comes for the first time.
  GraphLowering lower;
  // Slow and good: called in the background for a shape that came `hot_runs` times, whose program
  // it replaces. Null: never.
  GraphLowering plan;
  int hot_runs = 3;
  // Of all specializations that are kept: programs, their constants and graphs. The least recently
  // used go first; one that is running stays until it ends.
  int64_t cache_bytes = int64_t{256} << 20;
  int64_t pool_limit_bytes = 0;  // of the dynamic pool of all contexts together; 0: no limit
  // Steps of one run: programs, ops on the host and iterations of loops.
  int64_t step_limit = 1'000'000;
};

struct DynamicStatistics {
  int64_t specializations = 0;  // made so far
  int64_t reused = 0;           // runs of one that was there
  int64_t evicted = 0;
  int64_t planned = 0;  // replaced by the background plan
  int64_t cached_bytes = 0, cached = 0;
  int64_t pool_peak_bytes = 0, pool_reserved_bytes = 0;
};

}  // namespace berth
