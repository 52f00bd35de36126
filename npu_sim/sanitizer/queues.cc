#include "npu_sim/sanitizer/queues.h"

#include <algorithm>

namespace berth::sanitizer {

Queues::Queues(const ProgramView& program)
    : program_(program),
      engine_count_(program.engines.size()),
      queue_(engine_count_),
      finished_(engine_count_),
      number_(program.commands.size()),
      knows_(program.commands.size() * engine_count_) {
  for (uint32_t c = 0; c < program.commands.size(); ++c) {
    std::vector<uint32_t>& queue = queue_[program.commands[c].engine];
    queue.push_back(c);
    number_[c] = static_cast<uint32_t>(queue.size());
  }
}

std::optional<Wait> Queues::FirstOpenWait(uint32_t command) const {
  const Command& c = program_.commands[command];
  for (const Wait& wait : program_.waits.subspan(c.wait_begin, c.wait_count)) {
    if (wait.engine >= engine_count_ || finished_[wait.engine] < wait.count) return wait;
  }
  return std::nullopt;
}

// All that was known when `from` started, and that it has finished itself.
void Queues::Learn(uint32_t command, uint32_t from) {
  uint32_t* mine = &knows_[command * engine_count_];
  const uint32_t* theirs = &knows_[from * engine_count_];
  for (size_t e = 0; e < engine_count_; ++e) mine[e] = std::max(mine[e], theirs[e]);
  uint32_t& own = mine[program_.commands[from].engine];
  own = std::max(own, number_[from]);
}

std::optional<uint32_t> Queues::Start() {
  std::optional<uint32_t> first;
  for (size_t e = 0; e < engine_count_; ++e) {
    if (finished_[e] == queue_[e].size()) continue;
    const uint32_t head = queue_[e][finished_[e]];
    if ((!first || head < *first) && !FirstOpenWait(head)) first = head;
  }
  if (!first) return first;
  const Command& command = program_.commands[*first];
  if (finished_[command.engine] > 0) {
    Learn(*first, queue_[command.engine][finished_[command.engine] - 1]);
  }
  for (const Wait& wait : program_.waits.subspan(command.wait_begin, command.wait_count)) {
    if (wait.count > 0) Learn(*first, queue_[wait.engine][wait.count - 1]);
  }
  return first;
}

void Queues::Finish(uint32_t command) { ++finished_[program_.commands[command].engine]; }

std::vector<Queues::Blocked> Queues::FindBlocked() const {
  std::vector<Blocked> blocked;
  for (size_t e = 0; e < engine_count_; ++e) {
    if (finished_[e] == queue_[e].size()) continue;
    Blocked entry{queue_[e][finished_[e]], {}, 0, false};
    entry.wait = *FirstOpenWait(entry.command);
    if (entry.wait.engine < engine_count_) {
      entry.finished = finished_[entry.wait.engine];
      entry.is_signalled = queue_[entry.wait.engine].size() >= entry.wait.count;
    }
    blocked.push_back(entry);
  }
  return blocked;
}

}  // namespace berth::sanitizer
