// The bytes that a command touches in one run, taken from the command and, where row numbers or
// indices decide, from the data that stand in memory.
//
// Written apart from access.h, on which the proof stands: there grids are derived by formulas and
// compared without looking at bytes; here positions are simply listed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "npu_sim/command.h"
#include "npu_sim/units.h"

namespace berth::sanitizer {

// Displacements in bytes along one loop: first + i * step for 0 <= i < count, or those listed.
struct Axis {
  int64_t first_bytes = 0;
  int64_t step_bytes = 0;
  int64_t count = 1;
  std::vector<int64_t> listed_bytes;  // ascending, takes the place of the others where not empty
};

// What one operand touches: elements at the sums of one displacement of each axis.
struct Footprint {
  int operand = 0;  // of {out, in0, in1, in2, acc}
  bool is_write = false;
  int64_t offset_bytes = 0;
  int64_t element_bytes = 0;
  std::array<Axis, 4> axes;
  bool touches_nothing = false;  // a window that lies in the padding
};

const Operand& OperandOf(const Command& command, int operand);

// Lowest byte and one past the highest.
struct Hull {
  int64_t begin_bytes = 0, end_bytes = 0;
};
Hull HullOf(const Footprint& footprint);

// What the command may touch whatever the data are, reads first: tables of indirect commands count
// whole. For bounds; the command has passed VerifyCommand.
std::vector<Footprint> PossibleFootprints(const Command& command);

// What it touches now: of tables only the rows that the numbers in `memory` name (numbers out of
// range are left to the unit, which refuses them). All that is possible must be in bounds.
std::vector<Footprint> ActualFootprints(const Command& command, const MemoryMap& memory);

// Calls visit(begin_bytes, end_bytes) for runs of bytes that together are those of the footprint;
// a byte may come more than once.
template <typename Visit>
void ForEachRun(const Footprint& footprint, Visit&& visit);

// One axis as nested loops see it.
struct FlatFootprint {
  int64_t offset_bytes = 0;
  int64_t run_bytes = 0;
  std::vector<const Axis*> axes;  // outermost first, without those that are part of the run
};
FlatFootprint Flatten(const Footprint& footprint);

inline int64_t CountOf(const Axis& axis) {
  return axis.listed_bytes.empty() ? axis.count : static_cast<int64_t>(axis.listed_bytes.size());
}
inline int64_t DisplacementOf(const Axis& axis, int64_t i) {
  return axis.listed_bytes.empty() ? axis.first_bytes + i * axis.step_bytes
                                   : axis.listed_bytes[static_cast<size_t>(i)];
}

template <typename Visit>
void VisitAxes(const FlatFootprint& flat, size_t axis, int64_t begin_bytes, Visit& visit) {
  if (axis == flat.axes.size()) return visit(begin_bytes, begin_bytes + flat.run_bytes);
  const int64_t count = CountOf(*flat.axes[axis]);
  for (int64_t i = 0; i < count; ++i) {
    VisitAxes(flat, axis + 1, begin_bytes + DisplacementOf(*flat.axes[axis], i), visit);
  }
}

template <typename Visit>
void ForEachRun(const Footprint& footprint, Visit&& visit) {
  if (footprint.touches_nothing) return;
  const FlatFootprint flat = Flatten(footprint);
  VisitAxes(flat, 0, flat.offset_bytes, visit);
}

}  // namespace berth::sanitizer
