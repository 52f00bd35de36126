// The loops of a reduction, split into those that are kept (out moves) and those that are reduced
// (out stands still), each in normal form.
#pragma once

#include <cstdlib>

#include "npu_sim/units/loop_nest.h"

namespace berth {

struct ReductionLoops {
  LoopNest kept;     // operands: out, in0
  LoopNest reduced;  // operand: in0, from the kept loops' position

  // Whether neighbours in memory belong to different results: then a kept run is reduced element by
  // element, else each result reduces a run.
  bool KeptIsInner() const {
    const int64_t kept_stride = std::abs(kept.stride_bytes[1][3]);
    const int64_t reduced_stride = std::abs(reduced.stride_bytes[0][3]);
    return kept.extent[3] > 1 && (reduced.extent[3] == 1 || kept_stride < reduced_stride);
  }
};

// Loop `only_reduced` is the reduced one; with -1, every loop along which out has stride 0.
inline ReductionLoops SplitReduction(const Command& command, const MemoryMap& memory,
                                     int only_reduced) {
  ReductionLoops loops;
  loops.kept = NestOf(command, memory, {&command.out, &command.in0});
  loops.reduced = NestOf(command, memory, {&command.in0});
  for (int d = 0; d < 4; ++d) {
    const bool is_reduced =
        only_reduced >= 0 ? d == only_reduced : command.out.stride_bytes[d] == 0;
    (is_reduced ? loops.kept : loops.reduced).extent[d] = 1;
  }
  Normalize(loops.kept);
  Normalize(loops.reduced);
  return loops;
}

// Calls function(pointers of all operands) for each iteration of the outer three loops.
template <typename F>
void ForOuterThree(const LoopNest& nest, F function) {
  std::byte* pointers[LoopNest::kMaxOperands];
  for (int64_t i0 = 0; i0 < nest.extent[0]; ++i0) {
    for (int64_t i1 = 0; i1 < nest.extent[1]; ++i1) {
      for (int64_t i2 = 0; i2 < nest.extent[2]; ++i2) {
        for (int i = 0; i < nest.operand_count; ++i) {
          const int64_t* stride = nest.stride_bytes[i];
          pointers[i] = nest.base[i] + i0 * stride[0] + i1 * stride[1] + i2 * stride[2];
        }
        function(pointers);
      }
    }
  }
}

}  // namespace berth
