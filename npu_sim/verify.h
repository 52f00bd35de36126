// The proof that a tile program is safe on a machine. Written apart from the planner's Emit.
//
// Proved, for any execution that the semaphores allow (not only for the list order):
//   1. every command is well formed: known opcode on the right engine, legal spaces, dtypes and
//      strides, extents >= 1, windows consistent; no matrix or vector command names DRAM;
//   2. every access lies inside its space or region and inside its slot, while the slot is live;
//   3. slots that overlap in bytes are not live at the same time; inputs and constants are never
//      written;
//   4. every wait names a command that stands earlier in the list (so no deadlock, and no wait
//      without its signal); a command has at most as many waits as there are engines;
//   5. any two commands that touch a common byte, at least one writing, are ordered by the
//      semaphores (race freedom, by vector clocks);
//   6. nothing reads a byte that its slot (or output) has not written before;
//   7. at the end every byte of every output is written.
// Programs for which that takes far more work than for any that is made to be run are refused, so
// that a small file cannot keep its reader busy.
// Cost: O(commands x engines + accesses x neighbours per granule); memory O(commands x engines +
// bytes used / 8).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/program.h"

namespace berth {

// DataLoss naming command, operand, bytes and the rule that is broken.
absl::Status VerifyProgram(const ProgramView& program, const NpuConfig& config);
// The same in two steps, for who has something else to do that needs the first alone: rules 1 to 3,
// after which every access is inside its memory; and, of a program that passed those, the others.
absl::Status VerifyPlaces(const ProgramView& program, const NpuConfig& config);
absl::Status VerifyExecution(const ProgramView& program);

// Rule 1 for one command.
absl::Status VerifyCommand(const ProgramView& program, const NpuConfig& config, size_t index);

}  // namespace berth
