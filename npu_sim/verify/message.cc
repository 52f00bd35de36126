#include "npu_sim/verify/message.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace berth::verify {

std::string DescribeCommand(const ProgramView& program, size_t index) {
  const Command& command = program.commands[index];
  const std::string engine = command.engine < program.engines.size()
                                 ? EngineName(program.engines[command.engine])
                                 : fmt::format("engine {}", command.engine);
  return fmt::format("command {} ({} {}, op {})", index, engine, OpcodeName(command.opcode),
                     command.op);
}

std::string DescribeSlot(const ProgramView& program, uint32_t slot) {
  if (slot >= program.slots.size()) return fmt::format("slot {}", slot);
  return fmt::format("slot {} (name {})", slot, program.slots[slot].name);
}

std::string DescribeSpace(const ProgramView& program, MemorySpace space, uint16_t region) {
  if (space == MemorySpace::kNone) return "no memory";
  if (space == MemorySpace::kScratchpad) return "scratchpad";
  if (space == MemorySpace::kAccumulator) return "accumulator";
  if (region >= program.regions.size()) return fmt::format("dram[{}]", region);
  constexpr std::array<std::string_view, 4> kNames = {"constants", "pool", "input", "output"};
  const auto kind = static_cast<size_t>(program.regions[region].kind);
  return fmt::format("{}[{}]", kind < kNames.size() ? kNames[kind] : "dram", region);
}

std::string DescribeAccess(const ProgramView& program, const Access& access) {
  constexpr std::array<std::string_view, 5> kOperands = {"out", "in0", "in1", "in2", "acc"};
  std::string text = fmt::format(
      "{} {} {} bytes [{}, {})", kOperands[access.operand], access.is_write ? "writes" : "reads",
      DescribeSpace(program, access.space, access.region), access.offset_bytes, access.end_bytes());
  if (access.slot != kNoSlot) text += " of " + DescribeSlot(program, access.slot);
  return text;
}

}  // namespace berth::verify
