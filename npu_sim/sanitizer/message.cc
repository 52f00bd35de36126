#include "npu_sim/sanitizer/message.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "npu_sim/operands.h"
#include "npu_sim/text/names.h"

namespace berth::sanitizer {
namespace {

std::string Quoted(const std::function<std::string(uint32_t)>& name, uint32_t number) {
  const std::string text = name ? name(number) : "";
  return text.empty() ? "" : fmt::format(" '{}'", text);
}

}  // namespace

std::string Describer::Command(uint32_t command) const {
  const berth::Command& c = program_.commands[command];
  const std::string engine = c.engine < program_.engines.size()
                                 ? EngineName(program_.engines[c.engine])
                                 : fmt::format("engine {}", c.engine);
  return fmt::format("command {} ({} {}, op {}{})", command, engine, OpcodeName(c.opcode), c.op,
                     Quoted(names_.op, c.op));
}

std::string Describer::Slot(uint32_t slot) const {
  if (slot >= program_.slots.size()) return fmt::format("slot {}", slot);
  return fmt::format("slot {}{}", slot, Quoted(names_.buffer, program_.slots[slot].name));
}

std::string Describer::Memory(MemorySpace space, uint16_t region) const {
  if (space == MemorySpace::kScratchpad) return "scratchpad";
  if (space == MemorySpace::kAccumulator) return "accumulator";
  if (region >= program_.regions.size()) return fmt::format("region {}", region);
  const std::string_view kind =
      program_text::RegionKindNameOf(static_cast<uint8_t>(program_.regions[region].kind));
  return fmt::format("region {} ({}{})", region, kind.empty() ? "unknown" : kind,
                     Quoted(names_.region, region));
}

std::string Describer::Access(const Operand& operand, int position, bool is_write,
                              int64_t first_byte, int64_t byte_count) const {
  std::string text = fmt::format(
      "{} {} {}, {} bytes from byte {} on", kOperandNames[static_cast<size_t>(position)],
      is_write ? "writes" : "reads", Memory(operand.space, operand.region), byte_count, first_byte);
  if (operand.slot != kNoSlot) text += " of " + Slot(operand.slot);
  return text;
}

}  // namespace berth::sanitizer

namespace berth {

std::string_view FindingKindName(FindingKind kind) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "malformed command",    "misaligned",         "no such memory",  "out of bounds",
      "read-only written",    "uninitialized read", "stale read",      "race",
      "wait never signalled", "deadlock",           "output unwritten"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace berth
