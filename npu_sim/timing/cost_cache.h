// Costs of commands that were seen before. Programs repeat few shapes many times, and a cost
// depends neither on what a command waits for nor on whose work it is, and on a DRAM address only
// as far as bursts and rows begin: two commands that agree in the rest cost the same.
//
// Direct-mapped, of fixed size: an unknown command takes the place of another. Results do not
// depend on it. A known command is looked at in place, word by word under a mask, and found by the
// few words that tell most commands apart: about 10 ns.
#pragma once

#include <array>
#include <vector>

#include "npu_sim/timing/cost.h"

namespace berth::timing {

class CostCache {
 public:
  // `model` outlives the cache.
  explicit CostCache(const CostModel& model);

  // Valid until the next call.
  const CommandCost& Cost(const Command& command);

 private:
  static constexpr size_t kWords = sizeof(Command) / sizeof(uint64_t);
  static constexpr size_t kOperands = 5;
  using Words = std::array<uint64_t, kWords>;
  using Phases = std::array<int64_t, kOperands>;
  struct Entry {
    Words words{};
    Phases phases{};
    CommandCost cost;
    bool known = false;
  };
  // Where an operand begins, as far as its cost depends on it.
  int64_t Phase(const Operand& operand) const;
  bool Matches(const Entry& entry, const Command& command, const Phases& phases) const;

  const CostModel& model_;
  int64_t dram_period_bytes_;
  bool period_is_power_;  // of two
  Words mask_;            // the bits of a command that its cost depends on, but for the offsets
  std::vector<Entry> entries_;
};

}  // namespace berth::timing
