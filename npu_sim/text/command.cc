// One command.
#include "npu_sim/operands.h"
#include "npu_sim/text/params.h"
#include "npu_sim/text/state.h"

namespace berth::program_text {
namespace {

Operand* OperandOf(Command& command, std::string_view name) {
  const auto found = std::find(kOperandNames.begin(), kOperandNames.end(), name);
  if (found == kOperandNames.end()) return nullptr;
  return OperandsOf(command)[static_cast<size_t>(found - kOperandNames.begin())];
}

// "=scratchpad+4096:float32(256,4,0,0)#7"
absl::Status TakeOperand(const State& state, Operand& operand, Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("="));
  BERTH_ASSIGN_OR_RETURN(const Place place, TakePlace(state, cursor));
  operand.space = place.space;
  operand.region = place.region;
  operand.offset_bytes = place.offset_bytes;
  operand.slot = place.slot;
  BERTH_RETURN_IF_ERROR(cursor.Expect(":"));
  const Cursor begin = cursor;
  const auto dtype = ValueOf(DTypeNameOf, cursor.TakeName());
  if (!dtype) {
    return begin.Fail(
        fmt::format("unknown dtype {}, there are: {}", begin.Found(), ListOf(DTypeNameOf)));
  }
  operand.dtype = static_cast<DType>(*dtype);
  if (cursor.At("(")) {
    for (size_t d = 0; d < 4; ++d) {
      BERTH_RETURN_IF_ERROR(cursor.Expect(d == 0 ? "(" : ","));
      BERTH_ASSIGN_OR_RETURN(operand.stride_bytes[d], cursor.TakeInteger<int32_t>());
    }
    BERTH_RETURN_IF_ERROR(cursor.Expect(")"));
  }
  if (place.slot == kNoSlot && cursor.Take("#")) {
    BERTH_ASSIGN_OR_RETURN(operand.slot, cursor.TakeInteger<uint32_t>());
  }
  return absl::OkStatus();
}

// "16x16x32": the innermost loops; the others are 1.
absl::Status TakeExtents(Command& command, Cursor& cursor) {
  int32_t given[4] = {};
  size_t count = 0;
  do {
    if (count == 4) return cursor.Fail(cursor.Found() + ", there are at most 4 loops");
    BERTH_ASSIGN_OR_RETURN(given[count++], cursor.TakeDecimal<int32_t>());
  } while (cursor.Take("x"));
  std::copy_n(given, count, command.extent + (4 - count));
  return cursor.ExpectWordEnd();
}

absl::StatusOr<uint8_t> TakeEngineName(const State& state, Cursor& cursor) {
  const Cursor begin = cursor;
  const auto& names = state.engine_names;
  const auto found = std::find(names.begin(), names.end(), cursor.TakeName());
  if (found == names.end()) {
    return begin.Fail(fmt::format("{} is no declared engine, there are: {}", begin.Found(),
                                  fmt::join(names, ", ")));
  }
  return static_cast<uint8_t>(found - names.begin());
}

// "matrix>=3", or "@5": when command 5 has finished.
absl::StatusOr<Wait> TakeWait(const State& state, Cursor& cursor) {
  Wait wait;
  if (cursor.Take("@")) {
    const Cursor begin = cursor;
    BERTH_ASSIGN_OR_RETURN(const uint32_t command, cursor.TakeInteger<uint32_t>());
    if (command >= state.program.commands.size()) {
      return begin.Fail(fmt::format("command {} does not stand before this one, command {}",
                                    command, state.program.commands.size()));
    }
    wait.engine = state.program.commands[command].engine;
    wait.count = state.finish_count[command];
    return wait;
  }
  BERTH_ASSIGN_OR_RETURN(wait.engine, TakeEngineName(state, cursor));
  BERTH_RETURN_IF_ERROR(cursor.Expect(">="));
  BERTH_ASSIGN_OR_RETURN(wait.count, cursor.TakeInteger<uint32_t>());
  return wait;
}

// As in a program that verifies: no more than there are engines.
absl::Status TakeWaits(State& state, Command& command, Cursor& cursor) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("="));
  do {
    if (command.wait_count == state.engine_names.size()) {
      return cursor.Fail(fmt::format("more waits than the {} engines", command.wait_count));
    }
    BERTH_ASSIGN_OR_RETURN(const Wait wait, TakeWait(state, cursor));
    state.program.waits.push_back(wait);
    ++command.wait_count;
  } while (cursor.Take(","));
  return absl::OkStatus();
}

// Reads the value of the one field that has the name; visits all of them, whose names it keeps.
class ParamsReader {
 public:
  ParamsReader(std::string_view wanted, Cursor& cursor) : wanted_(wanted), cursor_(cursor) {}

  bool found() const { return found_; }
  const absl::Status& status() const { return status_; }
  const std::string& known() const { return known_; }

  template <typename T>
  void Number(std::string_view name, T& value) {
    if (IsWanted(name)) Keep(cursor_.TakeInteger<T>(), value);
  }
  template <typename T>
  void Hex(std::string_view name, T& value) {
    Number(name, value);
  }
  void Float(std::string_view name, float& value) {
    if (IsWanted(name)) Keep(cursor_.TakeFloat(), value);
  }
  template <typename T>
  void Pair(std::string_view name, T& first, T& second) {
    if (!IsWanted(name)) return;
    Keep(cursor_.TakeDecimal<T>(), first);
    if (status_.ok()) status_ = cursor_.Expect("x");
    if (status_.ok()) Keep(cursor_.TakeDecimal<T>(), second);
  }
  template <typename T>
  void Name(std::string_view name, T& value, NameOf name_of) {
    if (!IsWanted(name)) return;
    const Cursor begin = cursor_;
    if (const auto known_value = ValueOf(name_of, cursor_.TakeName())) {
      value = static_cast<T>(*known_value);
    } else {
      status_ = begin.Fail(
          fmt::format("unknown {} {}, there are: {}", name, begin.Found(), ListOf(name_of)));
    }
  }
  template <size_t N>
  void List(std::string_view name, int64_t (&values)[N]) {
    if (!IsWanted(name)) return;
    size_t count = 0;
    do {
      if (count == N) {
        status_ = cursor_.Fail(fmt::format("more than {} {}", N, name));
        return;
      }
      Keep(cursor_.TakeInteger<int64_t>(), values[count++]);
    } while (status_.ok() && cursor_.Take(","));
  }

 private:
  bool IsWanted(std::string_view name) {
    known_ += fmt::format("{}{}", known_.empty() ? "" : ", ", name);
    if (found_ || name != wanted_) return false;
    found_ = true;
    status_ = cursor_.Expect("=");
    return status_.ok();
  }
  template <typename T>
  void Keep(absl::StatusOr<T> value, T& field) {
    if (value.ok()) {
      field = *value;
    } else {
      status_ = value.status();
    }
  }

  std::string_view wanted_;
  Cursor& cursor_;
  bool found_ = false;
  absl::Status status_;
  std::string known_;
};

absl::Status TakeCommandField(State& state, Command& command, const Field& field, Cursor& cursor) {
  if (field.name == "op") return TakeValue(cursor, command.op);
  if (field.name == "waits") return TakeWaits(state, command, cursor);
  if (Operand* operand = OperandOf(command, field.name)) {
    return TakeOperand(state, *operand, cursor);
  }
  if (const auto bit = ValueOf(FlagNameOf, field.name)) {
    command.flags = static_cast<uint16_t>(command.flags | 1u << *bit);
    return absl::OkStatus();
  }
  ParamsReader reader(field.name, cursor);
  VisitParams(command.opcode, command.params, reader);
  if (reader.found()) return reader.status();
  return UnknownField(field, OpcodeName(command.opcode),
                      fmt::format("{}, op, waits, {}, {}", fmt::join(kOperandNames, ", "),
                                  ListOf(FlagNameOf), reader.known()),
                      cursor);
}

}  // namespace

absl::Status TakeCommand(State& state, Cursor& cursor) {
  Command command;
  BERTH_ASSIGN_OR_RETURN(command.engine, TakeEngineName(state, cursor));
  BERTH_RETURN_IF_ERROR(cursor.ExpectWordEnd());
  (void)cursor.AtLineEnd();  // to the next word
  const Cursor begin = cursor;
  const auto opcode = ValueOf(OpcodeNameOf, cursor.TakeName());
  if (!opcode || !cursor.AtWordEnd()) {
    return begin.Fail(
        fmt::format("unknown opcode {}, there are: {}", begin.Found(), ListOf(OpcodeNameOf)));
  }
  command.opcode = static_cast<Opcode>(*opcode);
  command.params = DefaultParams(command.opcode);
  command.wait_begin = static_cast<uint32_t>(state.program.waits.size());
  if (!cursor.AtLineEnd() && (cursor.AtDigit() || cursor.At("-"))) {
    BERTH_RETURN_IF_ERROR(TakeExtents(command, cursor));
  }
  BERTH_RETURN_IF_ERROR(TakeFields(cursor, [&](const Field& field) {
                          return TakeCommandField(state, command, field, cursor);
                        }).status());
  state.finish_count.push_back(++state.issued[command.engine]);
  state.program.commands.push_back(command);
  return absl::OkStatus();
}

}  // namespace berth::program_text
