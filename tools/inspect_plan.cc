#include "tools/inspect_plan.h"

#include <algorithm>

#include "planner/onnx/text.h"

namespace berth {
namespace {

// Offsets, and the sizes of all slots together, stay below this: no sum of them overflows.
constexpr int64_t kLargestOffset = int64_t{1} << 60;

bool IsByteRange(int64_t offset_bytes, int64_t size_bytes) {
  return offset_bytes >= 0 && offset_bytes <= kLargestOffset && size_bytes >= 0 &&
         size_bytes <= kLargestOffset;
}

bool IsViewed(MemorySpace space) {
  return std::find(std::begin(kViewedSpaces), std::end(kViewedSpaces), space) !=
         std::end(kViewedSpaces);
}

absl::Status CheckSlot(const ProgramView& program, size_t index) {
  const Slot& slot = program.slots[index];
  const bool has_region = slot.space != MemorySpace::kDram || slot.region < program.regions.size();
  if (IsViewed(slot.space) && has_region && IsByteRange(slot.offset_bytes, slot.size_bytes) &&
      slot.begin_command <= slot.end_command && slot.end_command <= program.commands.size()) {
    return absl::OkStatus();
  }
  return DataLoss("section 4 (slots), index {}: {} bytes at {}, region {}, commands [{}, {}) of {}",
                  index, slot.size_bytes, slot.offset_bytes, slot.region, slot.begin_command,
                  slot.end_command, program.commands.size());
}

// The reader of the metadata has checked the rest.
absl::Status CheckValue(const ProgramView& program, const ValueInfo& value, size_t index) {
  if (IsByteRange(value.offset_bytes, value.span_bytes) &&
      (value.slot == kNoSlot || value.slot < program.slots.size())) {
    return absl::OkStatus();
  }
  return DataLoss("section 0 (metadata), values {}: {} bytes at {}, slot {} of {}", index,
                  value.span_bytes, value.offset_bytes, value.slot, program.slots.size());
}

void Include(OpRange& range, uint32_t op) {
  if (range.begin == range.end) range = {op, op};
  range.begin = std::min(range.begin, op);
  range.end = std::max(range.end, op + 1);
}

std::vector<OpRange> SlotOps(const BundleContents& info, const ProgramView& program) {
  std::vector<OpRange> ops(program.slots.size());
  for (const Command& command : program.commands) {
    if (command.op >= info.ops.size()) continue;
    for (const Operand* operand :
         {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
      if (!operand->present() || operand->slot >= ops.size()) continue;
      Include(ops[operand->slot], command.op);
    }
  }
  return ops;
}

}  // namespace

std::string_view InspectedPlan::SlotName(uint32_t slot) const {
  const uint32_t name = program().slots[slot].name;
  return name < info().buffer_names.size() ? std::string_view(info().buffer_names[name]) : "?";
}

std::string_view InspectedPlan::OpName(uint32_t op) const {
  return op < info().ops.size() ? std::string_view(info().ops[op].name) : "?";
}

const MemoryPlan* InspectedPlan::Memory(std::string_view name) const {
  for (const MemoryPlan& plan : info().memories) {
    if (plan.memory == name) return &plan;
  }
  return nullptr;
}

absl::StatusOr<InspectedPlan> MakeInspectedPlan(std::shared_ptr<const Bundle> bundle) {
  const ProgramView& program = bundle->program();
  int64_t total_bytes = 0;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    BERTH_RETURN_IF_ERROR(CheckSlot(program, i));
    total_bytes += program.slots[i].size_bytes;
    if (total_bytes > kLargestOffset) {
      return DataLoss("section 4 (slots), index {}: {} bytes together", i, total_bytes);
    }
  }
  const std::vector<ValueInfo>& values = bundle->info().values;
  for (size_t i = 0; i < values.size(); ++i) {
    BERTH_RETURN_IF_ERROR(CheckValue(program, values[i], i));
  }
  InspectedPlan plan;
  plan.slot_ops = SlotOps(bundle->info(), program);
  plan.bundle = std::move(bundle);
  return plan;
}

std::string_view SpaceMemoryName(MemorySpace space) {
  switch (space) {
    case MemorySpace::kDram:
      return "pool";
    case MemorySpace::kScratchpad:
      return "scratchpad";
    case MemorySpace::kAccumulator:
      return "accumulator";
    case MemorySpace::kNone:
      break;
  }
  return "none";
}

std::string RegionName(const DramRegion& region) {
  switch (region.kind) {
    case RegionKind::kConstants:
      return "constants";
    case RegionKind::kPool:
      return "pool";
    case RegionKind::kInput:
      return fmt::format("input {}", region.index);
    case RegionKind::kOutput:
      return fmt::format("output {}", region.index);
  }
  return "unknown";
}

std::string Shown(std::string_view name) {
  constexpr size_t kLongestName = 80;
  return fmt::format("'{}'", OneLine(name, kLongestName));
}

std::string_view StorageName(ValueStorage storage) {
  switch (storage) {
    case ValueStorage::kOwn:
      return "own";
    case ValueStorage::kView:
      return "view";
    case ValueStorage::kPart:
      return "part";
    case ValueStorage::kInPlace:
      return "in_place";
  }
  return "unknown";
}

}  // namespace berth
