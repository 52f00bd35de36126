// How one command is divided for parallel execution: along one of its four loops.
//
// Depends on the command only. A part owns whole iterations of the loop, so parts write disjoint
// bytes and each output is computed by exactly one part with the same arithmetic for any number of
// threads. A part has at least ~1 MMAC, 256 KiB of DMA or 64 Ki vector elements; at most 16 parts,
// or as many as make a part 16 times as much, up to 1024.
#pragma once

#include <algorithm>
#include <cstdint>

#include "npu_sim/command.h"

namespace berth {

struct PartPlan {
  int loop = 0;   // position in Command::extent
  int count = 1;  // parts, <= extent[loop]
};
PartPlan PlanParts(const Command& command);

struct Range {  // half-open
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// Part `part` of `count` nearly equal parts of [0, extent).
inline Range PartRange(int64_t extent, int part, int count) {
  return {extent * part / count, extent * (part + 1) / count};
}

// The ranges of the four loops that one part covers.
struct PartRanges {
  Range loop[4];
};
PartRanges RangesOfPart(const Command& command, int part);

// The command that does one part of a command whose operands follow its four loops alone (no
// window): extent and offsets of the divided loop are narrowed.
Command NarrowToPart(const Command& command, int part);

}  // namespace berth
