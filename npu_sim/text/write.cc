// DumpProgram: see npu_sim/program_text.h.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "npu_sim/operands.h"
#include "npu_sim/program.h"
#include "npu_sim/text/params.h"

namespace berth {
namespace {

using program_text::DefaultParams;
using program_text::DTypeNameOf;
using program_text::FlagNameOf;
using program_text::FunctionNameOf;
using program_text::NameOf;
using program_text::NameOrNumber;
using program_text::OpcodeNameOf;
using program_text::RegionKindNameOf;
using program_text::SpaceNameOf;
using program_text::VisitParams;

template <typename... Args>
void Append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

// "pool[2]", "scratchpad", "dram[9]" where that region does not say what it is. The region of a
// memory on the chip means nothing, and is written where it is not 0.
void AppendPlace(const ProgramView& program, MemorySpace space, uint16_t region,
                 std::string& text) {
  const bool is_dram = space == MemorySpace::kDram;
  std::string_view name;
  if (is_dram && region < program.regions.size()) {
    name = RegionKindNameOf(static_cast<uint8_t>(program.regions[region].kind));
  }
  text += name.empty() ? NameOrNumber(SpaceNameOf, static_cast<uint8_t>(space)) : std::string(name);
  if (is_dram || region != 0) Append(text, "[{}]", region);
}

// " in0=scratchpad+4096:float32(256,4,0,0)#7"
void AppendOperand(const ProgramView& program, std::string_view name, const Operand& operand,
                   std::string& text) {
  if (operand == Operand{}) return;
  Append(text, " {}=", name);
  AppendPlace(program, operand.space, operand.region, text);
  Append(text, "{:+}:{}", operand.offset_bytes,
         NameOrNumber(DTypeNameOf, static_cast<uint8_t>(operand.dtype)));
  const int32_t(&strides)[4] = operand.stride_bytes;
  if (strides[0] != 0 || strides[1] != 0 || strides[2] != 0 || strides[3] != 0) {
    Append(text, "({},{},{},{})", strides[0], strides[1], strides[2], strides[3]);
  }
  if (operand.slot != kNoSlot) Append(text, "#{}", operand.slot);
}

// Writes the fields that are not as the reader would assume.
class ParamsWriter {
 public:
  ParamsWriter(const CommandParams& params, const CommandParams& defaults, std::string& text)
      : params_(params), defaults_(defaults), text_(text) {}

  template <typename T>
  void Number(std::string_view name, const T& value) {
    if (!IsDefault(value)) Append(text_, " {}={}", name, value);
  }
  template <typename T>
  void Hex(std::string_view name, const T& value) {
    if (!IsDefault(value)) Append(text_, " {}={:#x}", name, value);
  }
  // The shortest digits that give the same float again; of what is no number, the bits.
  void Float(std::string_view name, const float& value) {
    if (IsDefault(value)) return;
    if (std::isfinite(value)) {
      Append(text_, " {}={}", name, value);
    } else {
      Append(text_, " {}={:#x}", name, std::bit_cast<uint32_t>(value));
    }
  }
  template <typename T>
  void Pair(std::string_view name, const T& first, const T& second) {
    if (!IsDefault(first) || !IsDefault(second)) Append(text_, " {}={}x{}", name, first, second);
  }
  template <typename T>
  void Name(std::string_view name, const T& value, NameOf name_of) {
    if (IsDefault(value)) return;
    Append(text_, " {}={}", name, NameOrNumber(name_of, static_cast<uint8_t>(value)));
  }
  template <size_t N>
  void List(std::string_view name, const int64_t (&values)[N]) {
    size_t count = N;
    while (count > 0 && values[count - 1] == 0) --count;
    for (size_t i = 0; i < count; ++i) {
      if (i == 0) Append(text_, " {}=", name);
      Append(text_, "{}{}", i == 0 ? "" : ",", values[i]);
    }
  }

 private:
  // By bytes: -0 is not 0.
  template <typename T>
  bool IsDefault(const T& field) const {
    const auto offset = reinterpret_cast<const uint8_t*>(&field) - params_.bytes;
    return std::memcmp(&field, defaults_.bytes + offset, sizeof(T)) == 0;
  }

  const CommandParams& params_;
  const CommandParams& defaults_;
  std::string& text_;
};

// The function of a command stands there even where it is the one of number 0.
void AppendParams(const Command& command, std::string& text) {
  CommandParams params = command.params, defaults = DefaultParams(command.opcode);
  if (FunctionNameOf(command.opcode) != nullptr) {
    defaults.vector.function = static_cast<uint8_t>(~params.vector.function);
  }
  ParamsWriter writer(params, defaults, text);
  VisitParams(command.opcode, params, writer);
}

void AppendFlags(uint16_t flags, std::string& text) {
  for (uint8_t bit = 0; bit < 16; ++bit) {
    if (flags >> bit & 1) Append(text, " {}", NameOrNumber(FlagNameOf, bit));
  }
}

std::string EngineNameAt(const ProgramView& program, size_t engine) {
  return engine < program.engines.size() ? EngineName(program.engines[engine])
                                         : fmt::format("?{}", engine);
}

// More waits than there are engines are no program; a table that is named again and again must not
// make a text without end.
void AppendWaits(const ProgramView& program, const Command& command, std::string& text) {
  if (command.wait_count == 0) return;
  text += " waits=";
  if (command.wait_begin > program.waits.size() ||
      command.wait_count > program.waits.size() - command.wait_begin ||
      command.wait_count > program.engines.size()) {
    return Append(text, "?{}", command.wait_count);
  }
  std::string_view separator;
  for (const Wait& wait : program.waits.subspan(command.wait_begin, command.wait_count)) {
    Append(text, "{}{}>={}", separator, EngineNameAt(program, wait.engine), wait.count);
    separator = ",";
  }
}

std::string DumpSlot(const ProgramView& program, size_t index) {
  const Slot& slot = program.slots[index];
  std::string text = fmt::format("slot {} ", index);
  AppendPlace(program, slot.space, slot.region, text);
  Append(text, "{:+} bytes={} commands=[{},{})", slot.offset_bytes, slot.size_bytes,
         slot.begin_command, slot.end_command);
  if (slot.name != 0) Append(text, " name={}", slot.name);
  return text + "\n";
}

std::string DumpRegion(const ProgramView& program, size_t index) {
  const DramRegion& region = program.regions[index];
  std::string text = fmt::format("region {} {} bytes={}", index,
                                 NameOrNumber(RegionKindNameOf, static_cast<uint8_t>(region.kind)),
                                 region.size_bytes);
  if (region.index != 0) Append(text, " index={}", region.index);
  return text + "\n";
}

}  // namespace

std::string DumpCommand(const ProgramView& program, size_t index) {
  const Command& command = program.commands[index];
  std::string text =
      fmt::format("{:>6} {:<7} {:<11} {}x{}x{}x{}", index, EngineNameAt(program, command.engine),
                  NameOrNumber(OpcodeNameOf, static_cast<uint8_t>(command.opcode)),
                  command.extent[0], command.extent[1], command.extent[2], command.extent[3]);
  Append(text, " op={}", command.op);
  for (size_t i = 0; i < kOperandNames.size(); ++i) {
    AppendOperand(program, kOperandNames[i], *OperandsOf(command)[i], text);
  }
  AppendParams(command, text);
  AppendFlags(command.flags, text);
  AppendWaits(program, command, text);
  return text;
}

std::string DumpProgram(const ProgramView& program) {
  std::string text = "tile_program 1\n";
  if (!program.engines.empty()) {
    text += "engines";
    for (const EngineId& engine : program.engines) Append(text, " {}", EngineName(engine));
    text += "\n";
  }
  for (size_t i = 0; i < program.regions.size(); ++i) text += DumpRegion(program, i);
  Append(text, "scratchpad bytes={}\n", program.scratchpad_bytes);
  Append(text, "accumulator bytes={}\n", program.accumulator_bytes);
  for (size_t i = 0; i < program.slots.size(); ++i) text += DumpSlot(program, i);
  for (size_t i = 0; i < program.commands.size(); ++i) text += DumpCommand(program, i) + "\n";
  return text;
}

}  // namespace berth
