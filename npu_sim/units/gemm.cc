// kGemm. Samples and weights are multiplied where they stand when one of their strides is dense and
// the dtype allows it; otherwise they are converted into scratch, samples in blocks of rows.
#include <algorithm>

#include "npu_sim/units/multiply.h"
#include "npu_sim/units/output_stage.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

// Sums of a block stay in L2 for the output stage; fewer rows would pack the weights too often.
constexpr int64_t kBlockSumBytes = int64_t{1} << 20;
constexpr int64_t kBlockSampleBytes = int64_t{1} << 20;
constexpr int64_t kMinBlockRows = 128;

int64_t BlockRows(const Command& c) {
  const int64_t by_sums = kBlockSumBytes / (int64_t{c.extent[2]} * 4);
  const int64_t by_samples = kBlockSampleBytes / (int64_t{c.extent[3]} * 4);
  return std::min<int64_t>(c.extent[1], std::max(kMinBlockRows, std::min(by_sums, by_samples)));
}

StridedMatrix Samples(const Command& c, const std::byte* in0, int64_t batch, Range rows) {
  return {in0 + batch * c.in0.stride_bytes[0] + rows.begin * c.in0.stride_bytes[1], rows.count(),
          c.extent[3], c.in0.stride_bytes[1], c.in0.stride_bytes[3]};
}
StridedMatrix Weights(const Command& c, const std::byte* in1, int64_t batch, Range columns) {
  return {in1 + batch * c.in1.stride_bytes[0] + columns.begin * c.in1.stride_bytes[2], c.extent[3],
          columns.count(), c.in1.stride_bytes[3], c.in1.stride_bytes[2]};
}

struct Plan {
  MatrixMath math;
  bool convert_samples = false, convert_weights = false;
  bool ok = false;
};

Plan MakePlan(const Command& c) {
  Plan plan;
  plan.ok = ChooseMath(c, plan.math);
  const StridedMatrix samples = Samples(c, nullptr, 0, {0, c.extent[1]});
  const StridedMatrix weights = Weights(c, nullptr, 0, {0, c.extent[2]});
  plan.convert_samples =
      !plan.math.SamplesAsStored() || !IsGemmLayout(samples, DTypeBytes(c.in0.dtype));
  plan.convert_weights =
      !plan.math.WeightsAsStored() || !IsGemmLayout(weights, DTypeBytes(c.in1.dtype));
  return plan;
}

}  // namespace

int64_t GemmScratchBytes(const Command& c) {
  const Plan plan = MakePlan(c);
  int64_t bytes = 0;
  if (plan.convert_samples) {
    bytes += ScratchCursor::AlignedBytes(BlockRows(c) * c.extent[3] * plan.math.SampleBytes());
  }
  if (plan.convert_weights) {
    bytes +=
        ScratchCursor::AlignedBytes(int64_t{c.extent[2]} * c.extent[3] * plan.math.WeightBytes());
  }
  return bytes + plan.math.ScratchBytes(BlockRows(c) * c.extent[2], c.flags & kFlagAccumulate);
}

absl::Status ExecuteGemm(const UnitCall& call, const PartRanges& part) {
  const Command& c = call.command;
  const Plan plan = MakePlan(c);
  if (!plan.ok) return UnsupportedDType(c, c.in0.dtype);
  const std::byte* in0 = Resolve(c.in0, call.memory);
  const std::byte* in1 = Resolve(c.in1, call.memory);
  std::byte* sums = Resolve(c.acc, call.memory);
  const OutputStage output(c, call.memory);
  ScratchCursor cursor(call.scratch);
  const int64_t step = BlockRows(c);
  std::byte* sample_buffer = nullptr;
  std::byte* weight_buffer = nullptr;
  if (plan.convert_samples) {
    sample_buffer = cursor.Take<std::byte>(step * c.extent[3] * plan.math.SampleBytes());
  }
  if (plan.convert_weights) {
    weight_buffer =
        cursor.Take<std::byte>(int64_t{c.extent[2]} * c.extent[3] * plan.math.WeightBytes());
  }
  auto* product_scratch = cursor.Take<std::byte>(0);
  const Range batches = part.loop[0], rows = part.loop[1], columns = part.loop[2];
  ReadyMatrix weights;
  for (int64_t batch = batches.begin; batch < batches.end; ++batch) {
    if (batch == batches.begin || c.in1.stride_bytes[0] != 0) {
      const StridedMatrix view = Weights(c, in1, batch, columns);
      weights = plan.convert_weights ? ConvertWeights(plan.math, view, weight_buffer)
                                     : AsStored(view, DTypeBytes(c.in1.dtype));
    }
    for (int64_t row = rows.begin; row < rows.end; row += step) {
      const Range block{row, std::min(rows.end, row + step)};
      const StridedMatrix view = Samples(c, in0, batch, block);
      const ReadyMatrix samples = plan.convert_samples
                                      ? ConvertSamples(plan.math, view, sample_buffer)
                                      : AsStored(view, DTypeBytes(c.in0.dtype));
      std::byte* target = sums + ((batch * c.extent[1] + row) * c.extent[2] + columns.begin) * 4;
      MultiplyBlock(plan.math, {block.count(), columns.count(), c.extent[3]}, samples, weights,
                    c.flags & kFlagAccumulate, target, c.extent[2], product_scratch);
      output.Write(batch, block, columns);
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
