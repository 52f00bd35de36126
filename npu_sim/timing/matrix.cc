#include "npu_sim/timing/matrix.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "npu_sim/timing.h"

namespace berth {

int64_t RateDivisor(DType dtype, const MatrixConfig& matrix) {
  const int64_t bytes = DTypeBytes(dtype);
  return bytes == 1 ? 1 : bytes == 2 ? matrix.fp16_rate_divisor : matrix.fp32_rate_divisor;
}

int64_t CyclesPerStep(int64_t rate_divisor, const MatrixConfig& matrix) {
  return CeilDiv(matrix.rows * matrix.columns * rate_divisor, matrix.int8_macs_per_cycle);
}

}  // namespace berth

namespace berth::timing {
namespace {

// Taps that meet a sample, in the output phase that has most of them.
int64_t Taps(const Window& w) {
  return CeilDiv(w.kernel_height, w.upsample_height) * CeilDiv(w.kernel_width, w.upsample_width);
}

struct Folds {
  int64_t along_k = 1, along_m = 1, along_n = 1;
  int64_t count = 1;
  int64_t steps = 1;  // of each
};

Folds FoldsOf(const Command& c, const MatrixShape& shape, const MatrixConfig& config) {
  Folds folds;
  folds.along_n = CeilDiv(shape.n, config.columns);
  if (config.dataflow == Dataflow::kWeightStationary) {
    folds.along_k = config.fold_by_tap && c.opcode == Opcode::kConv
                        ? Taps(c.params.matrix.window) * CeilDiv(c.extent[3], config.rows)
                        : CeilDiv(shape.k, config.rows);
    folds.steps = shape.m;
  } else {
    folds.along_m = CeilDiv(shape.m, config.rows);
    folds.steps = shape.k;
  }
  folds.count = shape.batch * folds.along_k * folds.along_m * folds.along_n;
  return folds;
}

// Cycles of one fold whose preload hides behind the last chunk of its steps only.
int64_t FoldWithHiddenPreload(int64_t steps, int64_t cycles_per_step, const MatrixConfig& config) {
  const int64_t chunk = config.preload_chunk_steps > 0 ? config.preload_chunk_steps : steps;
  const int64_t before_last = (steps - 1) / chunk * chunk;
  return before_last * cycles_per_step +
         std::max((steps - before_last) * cycles_per_step, config.preload_cycles);
}

ArrayCycles FoldedCycles(const Folds& folds, int64_t rate_divisor, const MatrixConfig& config) {
  const int64_t cycles_per_step = CyclesPerStep(rate_divisor, config);
  ArrayCycles cycles;
  int64_t fold = folds.steps * cycles_per_step;
  if (config.preload_hidden) {
    fold = FoldWithHiddenPreload(folds.steps, cycles_per_step, config);
    cycles.lead = config.preload_cycles;
  } else {
    fold += config.preload_cycles;
  }
  if (config.fill_drain_hidden) {
    cycles.drain = config.fill_drain_cycles;
  } else {
    fold += config.fill_drain_cycles;
  }
  cycles.steady = folds.count * fold + config.count_offset_cycles;
  return cycles;
}

// One input channel per output channel: a row of the window slides through a shift register, so
// that each sample is read once per kernel row.
void AddDepthwise(const Command& c, const MatrixConfig& config, MatrixCost& cost) {
  const Window& w = c.params.matrix.window;
  cost.cycles.steady = CeilDiv(cost.macs * cost.rate_divisor, config.depthwise_int8_macs_per_cycle);
  if (config.fill_drain_hidden) {
    cost.cycles.drain = config.fill_drain_cycles;
  } else {
    cost.cycles.steady += config.fill_drain_cycles;
  }
  const int64_t samples_per_row =
      CeilDiv((int64_t{c.extent[1]} - 1) * w.stride_width + w.kernel_width, w.upsample_width);
  const int64_t rows = int64_t{c.extent[0]} * CeilDiv(w.kernel_height, w.upsample_height);
  cost.in0_bytes = rows * samples_per_row * c.extent[2] * DTypeBytes(c.in0.dtype);
  cost.in1_bytes = Taps(w) * c.extent[2] * DTypeBytes(c.in1.dtype);
}

}  // namespace

MatrixShape ShapeOf(const Command& c) {
  MatrixShape shape;
  if (c.opcode == Opcode::kGemm) {
    shape = {c.extent[0], c.extent[1], c.extent[2], c.extent[3]};
  } else {
    shape.m = int64_t{c.extent[0]} * c.extent[1];
    shape.n = c.extent[2];
    shape.k = Taps(c.params.matrix.window) * c.extent[3];
  }
  return shape;
}

MatrixCost CostOfMatrix(const Command& c, const MatrixConfig& config) {
  const MatrixShape shape = ShapeOf(c);
  MatrixCost cost;
  cost.macs = shape.macs();
  const bool is_wider = DTypeBytes(c.in1.dtype) > DTypeBytes(c.in0.dtype);
  cost.rate_divisor = RateDivisor(is_wider ? c.in1.dtype : c.in0.dtype, config);
  const int64_t words = shape.batch * shape.m * shape.n;
  int64_t passes = 1;  // over the accumulators
  if (c.opcode == Opcode::kDepthwise) {
    AddDepthwise(c, config, cost);
  } else {
    const Folds folds = FoldsOf(c, shape, config);
    cost.cycles = FoldedCycles(folds, cost.rate_divisor, config);
    cost.in0_bytes = shape.batch * shape.m * shape.k * folds.along_n * DTypeBytes(c.in0.dtype);
    cost.in1_bytes = shape.batch * shape.n * shape.k * folds.along_m * DTypeBytes(c.in1.dtype);
    passes = folds.along_k;
  }
  if (c.in2.present()) cost.in2_bytes = shape.n * DTypeBytes(c.in2.dtype);
  // Each pass writes every word, each but the first also reads it.
  cost.accumulator_bytes = 4 * words * (2 * passes - (c.flags & kFlagAccumulate ? 0 : 1));
  if (c.flags & kFlagWriteOut) {
    cost.out_bytes = words * DTypeBytes(c.out.dtype);
    cost.accumulator_bytes += 4 * words;
    // The output stage works behind the array.
    cost.cycles.steady =
        std::max(cost.cycles.steady,
                 CeilDiv(cost.out_bytes * 1000, config.output_port_millibytes_per_cycle));
  }
  return cost;
}

}  // namespace berth::timing
