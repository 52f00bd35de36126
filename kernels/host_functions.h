// What the host engine can do for the ops: work that no unit of the NPU does.
#pragma once

#include <cstdint>

#include "npu_sim/units.h"

namespace berth {

// Positions in the table; they stand in bundles and are frozen.
enum class HostFunctionId : uint32_t {
  // in0 [outer, axis, inner] -> out (values) and in1 (int64 positions), each [outer, k, inner] and
  // each optional; of equals the first, NaN counts as larger than every number. values: outer,
  // axis, inner, k, 1 for the largest or 0 for the smallest.
  kTopK = 0,
  // out = in0 [rows, elements] with the rows in1 (int64, negative from the end) written over, or
  // combined with, those of in2. values: rows, elements, count of in1, ScatterReduction.
  kScatterRows = 1,
  // Positions of what is not 0 in in0 -> out, int64 [rank, count]. values: extents
  // (host_data_dependent.h), the fifth is the rank.
  kNonZero = 2,
  // Boxes in0 and scores in1 (both float32) -> out, int64 [count, 3] of batch, class and box.
  // values:
  // batches, classes, boxes, most per class, the bits of both thresholds (overlap low, score high),
  // 1 where the score has one + 2 where boxes are given by their centre.
  kNonMaxSuppression = 3,
  // in0 [outer, axis, inner] -> distinct slices out, and int64 first places in1, numbers of all
  // slices in2, counts acc; each optional. values: outer, axis, inner, 1 for sorted, distinct
  // slices.
  kUnique = 4,
};

HostFunctionTable KernelHostFunctions();

// Operands that a function of the table writes where they are present, as in
// HostParams::output_mask.
uint32_t HostOutputMask(HostFunctionId function);

}  // namespace berth
