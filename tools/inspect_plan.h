// A bundle opened to be looked at: the tables of slots and values, checked for range only, so that
// plans that do not verify can be looked at too.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace berth {

// Half open, in positions of the table of ops.
struct OpRange {
  uint32_t begin = 0, end = 0;
};

struct InspectedPlan {
  std::shared_ptr<const Bundle> bundle;
  // Per slot, from the first op whose commands touch it to the last: what the pool was packed by.
  std::vector<OpRange> slot_ops;

  const BundleContents& info() const { return bundle->info(); }
  const ProgramView& program() const { return bundle->program(); }
  std::string_view SlotName(uint32_t slot) const;
  std::string_view OpName(uint32_t op) const;  // "?" beyond the table
  // Null where the plan does not speak of it.
  const MemoryPlan* Memory(std::string_view name) const;
};

// DataLoss naming the slot or value whose bytes, commands or ops lie outside the program.
// Cost: O(commands + slots + values).
absl::StatusOr<InspectedPlan> MakeInspectedPlan(std::shared_ptr<const Bundle> bundle);

// The memories of slots, in the order of every view.
inline constexpr MemorySpace kViewedSpaces[] = {MemorySpace::kDram, MemorySpace::kScratchpad,
                                                MemorySpace::kAccumulator};
// "pool", "scratchpad", "accumulator": as MemoryPlan::memory.
std::string_view SpaceMemoryName(MemorySpace space);

// "pool", "constants", "input 0", "output 1".
std::string RegionName(const DramRegion& region);

// A name from a model for a line of text: quoted, on one line, not endless.
std::string Shown(std::string_view name);

std::string_view StorageName(ValueStorage storage);  // "own", "view", "part", "in_place"

}  // namespace berth
