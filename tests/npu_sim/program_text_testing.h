// Programs that are the same record by record.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "npu_sim/program_text.h"

namespace berth::testing_support {

template <typename Record>
bool SameBytes(const std::vector<Record>& a, const std::vector<Record>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Record)) == 0);
}

// Where they differ first; empty where they do not.
inline std::string DifferenceOf(const TileProgram& a, const TileProgram& b) {
  if (a.engines != b.engines) return "engines";
  if (!SameBytes(a.regions, b.regions)) return "regions";
  if (!SameBytes(a.slots, b.slots)) return "slots";
  if (!SameBytes(a.waits, b.waits)) return "waits";
  if (a.scratchpad_bytes != b.scratchpad_bytes) return "scratchpad_bytes";
  if (a.accumulator_bytes != b.accumulator_bytes) return "accumulator_bytes";
  if (SameBytes(a.commands, b.commands)) return "";
  for (size_t i = 0; i < a.commands.size() && i < b.commands.size(); ++i) {
    if (std::memcmp(&a.commands[i], &b.commands[i], sizeof(Command)) != 0) {
      return DumpCommand(a.view(), i) + "\n" + DumpCommand(b.view(), i);
    }
  }
  return "number of commands";
}

// What goes wrong when the program is written and read again; empty if nothing does.
inline std::string RoundTripDifference(const TileProgram& program) {
  const absl::StatusOr<TileProgram> again = ParseProgramText(DumpProgram(program.view()));
  return again.ok() ? DifferenceOf(program, *again) : std::string(ToStd(again.status().message()));
}

}  // namespace berth::testing_support
