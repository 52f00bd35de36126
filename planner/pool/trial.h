// One attempt to place all blocks, by whatever construction.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/pool/problem.h"

namespace berth {

// Above every height, and may still have the bytes of a whole problem added.
inline constexpr int64_t kUnlimitedBytes = 2 * kMostPoolBytes;

struct Trial {
  bool is_complete = false;             // false: given up, because the height limit cannot be kept
  int64_t height_bytes = 0;             // of a complete trial
  std::vector<int64_t> offset_bytes;    // by block
  std::vector<int32_t> blocked_blocks;  // of a trial given up: those for which no room was left
};

}  // namespace berth
