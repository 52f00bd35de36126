// ParseProgramText: lines to statements, then what the text left open.
#include "base/checked_math.h"
#include "npu_sim/operands.h"
#include "npu_sim/program_text.h"
#include "npu_sim/text/state.h"

namespace berth {
namespace {

using program_text::Cursor;
using program_text::State;

// Every count is below the number of bytes, so that positions fit 32 bits.
constexpr size_t kMostTextBytes = size_t{1} << 30;
constexpr uint32_t kVersion = 1;

absl::Status TakeHeader(Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("tile_program"));
  BERTH_RETURN_IF_ERROR(cursor.ExpectWordEnd());
  if (cursor.AtLineEnd()) return cursor.Fail("expected the version, 1");
  const Cursor begin = cursor;
  BERTH_ASSIGN_OR_RETURN(const uint32_t version, cursor.TakeInteger<uint32_t>());
  if (version != kVersion) {
    return begin.Fail(fmt::format("version {}, this reader knows {}", version, kVersion));
  }
  if (!cursor.AtLineEnd()) return cursor.Fail(cursor.Found() + ", expected the end of the line");
  return absl::OkStatus();
}

absl::Status TakeStatement(State& state, Cursor& cursor) {
  const Cursor begin = cursor;
  const std::string_view word = cursor.TakeName();
  if (word == "engines") return TakeEngines(state, cursor);
  if (word == "region") return TakeRegion(state, cursor);
  if (word == "slot") return TakeSlot(state, cursor);
  if (word == "scratchpad") return TakeUsedBytes(state.scratchpad_bytes, cursor);
  if (word == "accumulator") return TakeUsedBytes(state.accumulator_bytes, cursor);
  if (state.engine_names.empty()) {
    return begin.Fail(begin.Found() +
                      ", expected engines, region, slot, scratchpad or accumulator (commands "
                      "follow 'engines')");
  }
  cursor = begin;
  if (word.find_first_not_of("0123456789") == std::string_view::npos) {
    BERTH_RETURN_IF_ERROR(TakeListNumber(state.program.commands.size(), "command", cursor));
  }
  return TakeCommand(state, cursor);
}

absl::Status TakeLines(std::string_view text, State& state) {
  bool has_header = false;
  for (size_t line_number = 1, begin = 0; begin < text.size(); ++line_number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    Cursor cursor(text.substr(begin, end - begin), line_number);
    begin = end + 1;
    if (cursor.AtLineEnd()) continue;
    BERTH_RETURN_IF_ERROR(has_header ? TakeStatement(state, cursor) : TakeHeader(cursor));
    has_header = true;
  }
  if (!has_header) return InvalidArgument("line 1, column 1: expected 'tile_program 1'");
  return absl::OkStatus();
}

// From the first command that names it to behind the last.
void InferLeases(State& state) {
  TileProgram& program = state.program;
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    for (const Operand* operand : OperandsOf(std::as_const(program.commands[i]))) {
      if (operand->slot >= program.slots.size() || !state.slot_is_open[operand->slot]) continue;
      Slot& slot = program.slots[operand->slot];
      if (slot.end_command == 0) slot.begin_command = i;
      slot.end_command = i + 1;
    }
  }
}

// To the end of the last slot; one that wraps is for the proof to refuse.
int64_t InferUsedBytes(const TileProgram& program, MemorySpace space) {
  int64_t used_bytes = 0;
  for (const Slot& slot : program.slots) {
    if (slot.space != space) continue;
    const auto end_bytes = CheckedAdd(slot.offset_bytes, slot.size_bytes);
    used_bytes = std::max(used_bytes, end_bytes.value_or(std::numeric_limits<int64_t>::max()));
  }
  return used_bytes;
}

}  // namespace

absl::StatusOr<TileProgram> ParseProgramText(std::string_view text) {
  if (text.size() > kMostTextBytes) {
    return InvalidArgument("{} bytes of text, at most {}", text.size(), kMostTextBytes);
  }
  State state;
  BERTH_RETURN_IF_ERROR(TakeLines(text, state));
  InferLeases(state);
  TileProgram& program = state.program;
  const auto used = [&](const std::optional<int64_t>& given, MemorySpace space) {
    return given ? *given : InferUsedBytes(program, space);
  };
  program.scratchpad_bytes = used(state.scratchpad_bytes, MemorySpace::kScratchpad);
  program.accumulator_bytes = used(state.accumulator_bytes, MemorySpace::kAccumulator);
  return std::move(program);
}

}  // namespace berth
