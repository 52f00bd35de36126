// The queues of the machine while a program runs on it: which command may start, and what is known
// to have finished when it does. A run in this order is one that the machine itself may take;
// what is known is kept as vector clocks, so that verdicts do not hang on the order taken.
//
// Cost: O(engines) a command, and 4 bytes of memory for each engine and command.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "npu_sim/program.h"

namespace berth::sanitizer {

class Queues {
 public:
  // Every command names an engine and waits that exist.
  explicit Queues(const ProgramView& program);

  // The first in the list of those at the head of a queue whose waits are over; nothing when no
  // queue can go on.
  std::optional<uint32_t> Start();
  // The command that was started has finished, and signals.
  void Finish(uint32_t command);

  // Has `earlier`, which was started before, surely finished when `later` starts?
  bool IsOrdered(uint32_t earlier, uint32_t later) const {
    return knows_[later * engine_count_ + program_.commands[earlier].engine] >= number_[earlier];
  }

  // Heads of queues that wait for ever, once Start gives nothing.
  struct Blocked {
    uint32_t command = 0;
    Wait wait;                  // the first that is not over
    uint32_t finished = 0;      // of the engine that it waits for
    bool is_signalled = false;  // the engine has as many commands, if it came to them
  };
  std::vector<Blocked> FindBlocked() const;

 private:
  std::optional<Wait> FirstOpenWait(uint32_t command) const;
  void Learn(uint32_t command, uint32_t from);

  const ProgramView& program_;
  const size_t engine_count_;
  std::vector<std::vector<uint32_t>> queue_;  // by engine: its commands in order
  std::vector<uint32_t> finished_;            // by engine: how many
  std::vector<uint32_t> number_;              // by command: which of its engine's, from 1
  std::vector<uint32_t> knows_;  // by command and engine: so many of it finished before
};

}  // namespace berth::sanitizer
