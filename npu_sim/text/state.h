// What is known of a program while its text is read, and the readers of its statements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npu_sim/program.h"
#include "npu_sim/text/cursor.h"

namespace berth::program_text {

struct State {
  TileProgram program;
  std::vector<std::string> engine_names;                       // of program.engines
  std::vector<bool> slot_is_open;                              // its lease is not given
  std::optional<int64_t> scratchpad_bytes, accumulator_bytes;  // where given
  std::vector<uint32_t> issued;                                // by engine: commands so far
  std::vector<uint32_t> finish_count;  // by command: its engine's semaphore when it has finished
};

// Each reads its statement behind the first word, or fails.
absl::Status TakeEngines(State& state, Cursor& cursor);
absl::Status TakeRegion(State& state, Cursor& cursor);
absl::Status TakeSlot(State& state, Cursor& cursor);
absl::Status TakeUsedBytes(std::optional<int64_t>& bytes, Cursor& cursor);
// From the name of its engine on.
absl::Status TakeCommand(State& state, Cursor& cursor);

// A part of a memory: "pool[2]+64", "scratchpad+64", or "#3+64": from the first byte of slot 3.
struct Place {
  MemorySpace space = MemorySpace::kNone;
  uint16_t region = 0;
  int64_t offset_bytes = 0;
  uint32_t slot = kNoSlot;  // where it was named
};
absl::StatusOr<Place> TakePlace(const State& state, Cursor& cursor);

// "4" in front of what is number 4 of its list: may be left out, must be right.
absl::Status TakeListNumber(size_t number, std::string_view what, Cursor& cursor);

struct Field {
  std::string_view name;
  size_t position = 0;  // of the name in the line
};
absl::Status UnknownField(const Field& field, std::string_view of, std::string_view known,
                          const Cursor& cursor);

// "=7"
template <typename T>
absl::Status TakeValue(Cursor& cursor, T& value) {
  BERTH_RETURN_IF_ERROR(cursor.Expect("="));
  BERTH_ASSIGN_OR_RETURN(value, cursor.TakeInteger<T>());
  return absl::OkStatus();
}

// The words up to the end of the line, each a field that comes at most once: `take(field)` reads
// what stands behind the name. Returns the names.
template <typename Take>
absl::StatusOr<std::vector<std::string_view>> TakeFields(Cursor& cursor, Take&& take) {
  std::vector<std::string_view> names;
  while (!cursor.AtLineEnd()) {
    Field field{{}, cursor.position()};
    field.name = cursor.TakeName();
    if (field.name.empty()) return cursor.Fail(cursor.Found() + ", expected a field");
    if (std::find(names.begin(), names.end(), field.name) != names.end()) {
      return cursor.FailAt(field.position, fmt::format("'{}' is given twice", field.name));
    }
    BERTH_RETURN_IF_ERROR(take(field));
    BERTH_RETURN_IF_ERROR(cursor.ExpectWordEnd());
    names.push_back(field.name);
  }
  return names;
}

}  // namespace berth::program_text
