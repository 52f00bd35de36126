// What bytes a command touches. Emit, the verifier, the executor's conflict graph and the timing
// model's bank conflicts all stand on this one description.
#pragma once

#include <cstdint>

#include "npu_sim/command.h"

namespace berth {

// A set of equal runs of bytes on a regular grid: runs start at
// offset_bytes + sum(i_d * stride_bytes[d]) for 0 <= i_d < extent[d], each run_bytes long.
// Normal form: strides are positive and descending, runs are as long as possible (adjacent runs are
// merged into run_bytes, loops of extent 1 or stride 0 are dropped to extent 1, stride 0 at the
// front), and two loops that together make one regular loop are one. A gather's table counts as its
// whole range.
struct Access {
  MemorySpace space = MemorySpace::kNone;
  bool is_write = false;
  uint8_t operand = 0;  // 0 out, 1 in0, 2 in1, 3 in2, 4 acc
  uint16_t region = 0;
  uint32_t slot = kNoSlot;
  int64_t offset_bytes = 0;
  int64_t extent[4] = {1, 1, 1, 1};
  int64_t stride_bytes[4] = {};
  int64_t run_bytes = 0;

  int64_t end_bytes() const;    // one past the last byte touched
  int64_t total_bytes() const;  // bytes touched (runs do not overlap in normal form, except where
                                // strides make them: then counted with repetition)
};

struct AccessList {
  Access items[6];
  int count = 0;
  const Access* begin() const { return items; }
  const Access* end() const { return items + count; }
};

// All reads and writes of a command. An accumulate reads and writes `acc`; a matrix command without
// kFlagWriteOut does not touch `out`; kConv reads of in0 exactly the samples that its window can
// reach inside the tile, as a bounding grid. The command must be structurally valid.
AccessList CollectAccesses(const Command& command);

// False only if the two accesses share no byte (space and region are compared too). Exact for grids
// that nest (each stride at least the span of the loops within) and whose strides agree; in general
// exact within a fixed budget of search steps, and true beyond it.
bool MayOverlap(const Access& a, const Access& b);

// Both touch the same bytes of their spaces, grid by grid.
bool HasSameBytes(const Access& a, const Access& b);

// Both touch a common byte and at least one writes.
inline bool Conflicts(const Access& a, const Access& b) {
  return (a.is_write || b.is_write) && MayOverlap(a, b);
}

}  // namespace berth
