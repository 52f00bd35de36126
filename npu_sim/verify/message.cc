#include "npu_sim/verify/message.h"

#include <fmt/format.h>

#include <string_view>

#include "npu_sim/operands.h"
#include "npu_sim/text/names.h"

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
  const std::string_view kind =
      program_text::RegionKindNameOf(static_cast<uint8_t>(program.regions[region].kind));
  return fmt::format("{}[{}]", kind.empty() ? "dram" : kind, region);
}

std::string DescribeAccess(const ProgramView& program, const Access& access) {
  std::string text = fmt::format("{} {} {} bytes [{}, {})", kOperandNames[access.operand],
                                 access.is_write ? "writes" : "reads",
                                 DescribeSpace(program, access.space, access.region),
                                 access.offset_bytes, access.end_bytes());
  if (access.slot != kNoSlot) text += " of " + DescribeSlot(program, access.slot);
  return text;
}

}  // namespace berth::verify
