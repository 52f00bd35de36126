// Tile programs as text: one statement a line, named fields, for people to read and to write.
// DumpProgram (npu_sim/program.h) writes what ParseProgramText reads; docs/program.md is the
// grammar.
//
// Exact: a program that is written and read again has the same engines, regions, slots, commands
// and waits, bit by bit, but for reserved bytes and for where its waits stand: they follow one
// another in the order of the commands (which is how the planner lays them out). What has no name
// (an unknown opcode, an engine that is not declared) is written as "?N", which is refused when it
// is read.
#pragma once

#include <string_view>

#include "base/status.h"
#include "npu_sim/program.h"

namespace berth {

// InvalidArgument naming line and column (both from 1 on, columns in bytes), what stands there and
// what was expected. It checks form only, see VerifyProgram for the rest. Time and memory are in
// proportion to the text, whatever the numbers in it say.
absl::StatusOr<TileProgram> ParseProgramText(std::string_view text);

}  // namespace berth
