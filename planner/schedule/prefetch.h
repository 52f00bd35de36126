// The order of commands: computation as lowered, loads hoisted ahead of it as far as the scratchpad
// holds. With hoisting, consecutive tiles' buffers are live together, so that the placement gives
// them different bytes: that is double buffering, and prefetch across ops.
#pragma once

#include <vector>

#include "planner/schedule/lower.h"

namespace berth {

struct PrefetchOptions {
  bool hoist = true;
  // Bytes that hoisting may make live at once.
  int64_t scratchpad_limit_bytes = 0;
  // Bytes per command of the lowered list that hoisting leaves alone; empty: none.
  std::vector<int64_t> reserved_bytes;
  // Loads considered ahead of the current command.
  int window_loads = 48;
};

// Permutes lowered.commands. The result keeps every order that matters: commands that share a
// buffer, and loads behind earlier stores to the same DRAM bytes. Cost: O(commands x window).
//
// Returns where every command stood before.
std::vector<uint32_t> HoistLoads(LoweredProgram& lowered, const PrefetchOptions& options);

// First and last use of each virtual buffer, half open in list positions; (0, 0) when unused.
struct BufferLife {
  uint32_t begin_command = 0;
  uint32_t end_command = 0;
};
std::vector<BufferLife> FindBufferLives(const std::vector<Command>& commands, size_t buffer_count);

// Scratchpad bytes live at each command, and behind the last. The first `left_out` buffers do not
// count.
std::vector<int64_t> LiveBytes(const std::vector<Command>& commands,
                               const std::vector<VirtualBuffer>& buffers, size_t left_out = 0);

}  // namespace berth
