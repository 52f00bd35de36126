// The task arena of a context whose host gives none.
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

namespace berth {

// oneTBB has one worker fewer than the machine has processors, and prints a warning where an arena
// asks for more.
inline std::unique_ptr<tbb::task_arena> MakeOwnArena(int threads) {
  constexpr int kNoReservedSlots = 0;
  const int workers = std::max(1, tbb::info::default_concurrency() - 1);
  return std::make_unique<tbb::task_arena>(std::min(threads, workers), kNoReservedSlots);
}

}  // namespace berth
