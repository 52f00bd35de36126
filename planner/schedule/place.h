// Offsets of all virtual buffers: one placement problem for the scratchpad, one for the
// accumulators, over command time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "planner/pool/plan_pool.h"
#include "planner/schedule/lower.h"
#include "planner/schedule/prefetch.h"

namespace berth {

// Why the buffers of a memory found no places.
struct Shortage {
  MemorySpace space = MemorySpace::kScratchpad;
  int64_t command = 0;       // where they meet
  int64_t excess_bytes = 0;  // that would be needed more
  std::string text;          // names the buffers in the way
};

struct ScratchpadPlan {
  std::optional<Shortage> shortage;   // set: there is no plan
  std::vector<BufferLife> lives;      // per virtual buffer
  std::vector<int64_t> offset_bytes;  // per virtual buffer, in its own space
  PoolPlan scratchpad, accumulator;   // the certificates
  int64_t scratchpad_buffers = 0, accumulator_buffers = 0;
};

struct PlaceOptions {
  // Off: the buffers of one op and role share one place (where their lives allow).
  bool double_buffer = true;
  // Gives up early (PoolOptions::only_rotate): for a caller that can make the lives shorter.
  bool only_rotate = false;
  // Buffers that a command uses together stand in banks of their own where there is room: less rest
  // for the bytes, fewer conflicts at the ports.
  bool apart_in_banks = false;
};

// A plan with a shortage when no placement within the machine was found.
absl::StatusOr<ScratchpadPlan> PlaceBuffers(const LoweredProgram& lowered, const NpuConfig& config,
                                            const PlaceOptions& options = {});

struct PlacePoolOptions {
  int64_t budget_bytes = 0;  // the limit; 0: none
  bool search = true;        // off: a few milliseconds of it, where there is no limit to meet
  StopConditions stop;
};

// The pool: gives every pool buffer of `storage` its offset. ResourceExhausted beyond the budget,
// Cancelled or DeadlineExceeded where it was to stop.
absl::StatusOr<PoolPlan> PlacePool(StoragePlan& storage, const PlacePoolOptions& options);

}  // namespace berth
