// Costs of commands that were seen before. Programs repeat few shapes many times, and a cost
// depends neither on what a command waits for nor on whose work it is, and on a DRAM address only
// as far as bursts and rows begin: two commands that agree in the rest cost the same.
//
// Direct-mapped, of fixed size: an unknown command takes the place of another. Results do not
// depend on it. About 30 ns a command that is known.
#pragma once

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
  struct Entry {
    Command key;
    CommandCost cost;
    bool known = false;
  };
  Command KeyOf(const Command& command) const;

  const CostModel& model_;
  int64_t dram_period_bytes_;
  std::vector<Entry> entries_;
};

}  // namespace berth::timing
