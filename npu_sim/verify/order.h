// Rule 4 and the happens-before order, as vector clocks.
//
// clock(c)[e] = how many commands of engine e have surely finished when command c starts: its
// predecessor on its own engine, the commands that it waits for, and what those knew.
// Cost: O(commands x engines) time and 4 bytes of memory each.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "npu_sim/program.h"

namespace berth::verify {

class HappensBefore {
 public:
  // DataLoss if a wait names a command that does not stand earlier in the list.
  static absl::StatusOr<HappensBefore> Build(const ProgramView& program);

  // Position of the command among those of its engine, from 1.
  uint32_t sequence(size_t command) const { return sequence_[command]; }
  // Has the command of `engine` with number `sequence` finished before `command` starts?
  bool FinishedBefore(uint8_t engine, uint32_t sequence, size_t command) const {
    return clock_[command * engine_count_ + engine] >= sequence;
  }
  // For each engine, how many of its commands have finished before any command at position `next`
  // or later starts. Cost: O(engines^2).
  std::vector<uint32_t> KnownToAllFrom(size_t next) const;

 private:
  size_t engine_count_ = 0;
  std::vector<uint32_t> sequence_;
  std::vector<uint32_t> clock_;
  std::vector<std::vector<uint32_t>> of_engine_;  // its commands, in order
};

}  // namespace berth::verify
