// Cycles of the matrix unit. Derivation: docs/machine.md, "Matrix unit".
#pragma once

#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/config.h"

namespace berth::timing {

// The command as `batch` products of M x K by K x N.
struct MatrixShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t macs() const { return batch * m * n * k; }
};
MatrixShape ShapeOf(const Command& command);

// lead (first preload) and drain (skew) overlap the commands before and after in a run without
// gaps; the array is taken for steady.
struct ArrayCycles {
  int64_t lead = 0, steady = 0, drain = 0;
};

struct MatrixCost {
  ArrayCycles cycles;
  int64_t macs = 0;
  int64_t rate_divisor = 1;  // of the dtype, relative to int8
  // Bytes through the ports: streamed operands count as often as the folds read them.
  int64_t in0_bytes = 0, in1_bytes = 0, in2_bytes = 0, out_bytes = 0;
  int64_t accumulator_bytes = 0;
};
MatrixCost CostOfMatrix(const Command& command, const MatrixConfig& config);

}  // namespace berth::timing
