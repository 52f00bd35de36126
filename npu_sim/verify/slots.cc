#include "npu_sim/verify/slots.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "npu_sim/verify/message.h"

namespace berth::verify {
namespace {

// Bytes of the space that a slot may stand in, or -1.
int64_t SpaceBytes(const ProgramView& program, const Slot& slot) {
  switch (slot.space) {
    case MemorySpace::kScratchpad:
      return slot.region == 0 ? program.scratchpad_bytes : -1;
    case MemorySpace::kAccumulator:
      return slot.region == 0 ? program.accumulator_bytes : -1;
    case MemorySpace::kDram:
      if (slot.region >= program.regions.size()) return -1;
      if (program.regions[slot.region].kind != RegionKind::kPool) return -1;
      return program.regions[slot.region].size_bytes;
    case MemorySpace::kNone:
      return -1;
  }
  return -1;
}

absl::Status CheckSlot(const ProgramView& program, uint32_t index) {
  const Slot& slot = program.slots[index];
  const int64_t space_bytes = SpaceBytes(program, slot);
  if (slot.offset_bytes < 0 || slot.size_bytes < 1 || slot.size_bytes > space_bytes ||
      slot.offset_bytes > space_bytes - slot.size_bytes) {
    return DataLoss("{}: {} bytes at {} do not fit {} ({} bytes)", DescribeSlot(program, index),
                    slot.size_bytes, slot.offset_bytes,
                    DescribeSpace(program, slot.space, slot.region), space_bytes);
  }
  if (slot.begin_command >= slot.end_command || slot.end_command > program.commands.size()) {
    return DataLoss("{}: commands [{}, {}) of {}", DescribeSlot(program, index), slot.begin_command,
                    slot.end_command, program.commands.size());
  }
  return absl::OkStatus();
}

using Address = std::pair<uint32_t, int64_t>;  // space and region, offset

Address AddressOf(const Slot& slot) {
  return {uint32_t{static_cast<uint8_t>(slot.space)} << 16 | slot.region, slot.offset_bytes};
}

std::vector<uint32_t> Sorted(const ProgramView& program, uint32_t Slot::*key) {
  std::vector<uint32_t> order(program.slots.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return program.slots[a].*key < program.slots[b].*key;
  });
  return order;
}

absl::Status Clash(const ProgramView& program, uint32_t a, uint32_t b) {
  const Slot &x = program.slots[a], &y = program.slots[b];
  return DataLoss(
      "{} and {} share bytes of {} at the same time: [{}, {}) in commands [{}, {}), "
      "[{}, {}) in commands [{}, {})",
      DescribeSlot(program, a), DescribeSlot(program, b), DescribeSpace(program, x.space, x.region),
      x.offset_bytes, x.offset_bytes + x.size_bytes, x.begin_command, x.end_command, y.offset_bytes,
      y.offset_bytes + y.size_bytes, y.begin_command, y.end_command);
}

}  // namespace

absl::Status CheckSlots(const ProgramView& program) {
  if (program.slots.size() >= kNoSlot) return DataLoss("{} slots", program.slots.size());
  for (uint32_t i = 0; i < program.slots.size(); ++i) {
    BERTH_RETURN_IF_ERROR(CheckSlot(program, i));
  }
  const std::vector<uint32_t> by_begin = Sorted(program, &Slot::begin_command);
  const std::vector<uint32_t> by_end = Sorted(program, &Slot::end_command);
  std::map<Address, uint32_t> live;  // disjoint, so neighbours are enough to compare with
  size_t ended = 0;
  for (uint32_t index : by_begin) {
    const Slot& slot = program.slots[index];
    while (program.slots[by_end[ended]].end_command <= slot.begin_command) {
      live.erase(AddressOf(program.slots[by_end[ended++]]));
    }
    const Address address = AddressOf(slot);
    const auto after = live.lower_bound(address);
    if (after != live.end() && after->first.first == address.first &&
        after->first.second < slot.offset_bytes + slot.size_bytes) {
      return Clash(program, after->second, index);
    }
    if (after != live.begin()) {
      const auto& [before_address, before] = *std::prev(after);
      if (before_address.first == address.first &&
          before_address.second + program.slots[before].size_bytes > slot.offset_bytes) {
        return Clash(program, before, index);
      }
    }
    live.emplace(address, index);
  }
  return absl::OkStatus();
}

}  // namespace berth::verify
