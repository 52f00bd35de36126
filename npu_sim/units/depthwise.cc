// kDepthwise: each channel with its own kernel, at vector speed along dense channels. The weights
// are widened into scratch once per part ([tap, channel] of float or int32, zero point subtracted),
// unless they stand so already.
#include <cstring>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/multiply.h"
#include "npu_sim/units/output_stage.h"
#include "npu_sim/units/unit_ops.h"
#include "npu_sim/units/window_source.h"

namespace berth {
namespace {

bool WeightsInPlace(const Command& c) {
  const Window& w = c.params.matrix.window;
  const int64_t tap_bytes = int64_t{c.extent[2]} * 4;
  return c.in1.dtype == DType::kFloat32 && (c.in1.stride_bytes[2] == 4 || c.extent[2] == 1) &&
         (w.kernel_width == 1 || c.in1.stride_bytes[1] == tap_bytes) &&
         (w.kernel_height == 1 || c.in1.stride_bytes[0] == tap_bytes * w.kernel_width);
}

// Bytes under a small window are multiplied as floats.
bool UsesByteKernel(const Command& c, const MatrixMath& math, const WindowSource& source) {
  return math.arithmetic == Arithmetic::kBytes && source.direct() &&
         WindowTapCount(c.params.matrix.window) <= kMaxByteTaps;
}

void IntsToFloats(std::byte* words, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t integer;
    std::memcpy(&integer, words + i * 4, sizeof(integer));
    const auto value = static_cast<float>(integer);
    std::memcpy(words + i * 4, &value, sizeof(value));
  }
}

void LoadWeights(const Command& c, const MatrixMath& math, const std::byte* in1,
                 std::byte* target) {
  const Window& w = c.params.matrix.window;
  for (int64_t r = 0; r < w.kernel_height; ++r) {
    for (int64_t s = 0; s < w.kernel_width; ++s, target += int64_t{c.extent[2]} * 4) {
      const std::byte* tap = in1 + r * c.in1.stride_bytes[0] + s * c.in1.stride_bytes[1];
      if (math.arithmetic == Arithmetic::kFloat) {
        LoadFloats(c.in1.dtype, tap, c.in1.stride_bytes[2], c.extent[2],
                   reinterpret_cast<float*>(target));
      } else {
        LoadInts(c.in1.dtype, tap, c.in1.stride_bytes[2], c.extent[2], math.weight_zero_point,
                 reinterpret_cast<int32_t*>(target));
      }
    }
  }
}

int64_t WeightBytes(const Command& c) {
  if (WeightsInPlace(c)) return 0;
  return WindowTapCount(c.params.matrix.window) * c.extent[2] * 4;
}

WindowSource MakeSource(const Command& c) {
  return WindowSource(
      c, c.params.matrix.window, c.params.matrix.in0_zero_point,
      IsFloat(c.in0.dtype) ? WindowSource::Wide::kFloat : WindowSource::Wide::kInt32);
}

}  // namespace

int64_t DepthwiseScratchBytes(const Command& c) {
  return MakeSource(c).ScratchBytes() + ScratchCursor::AlignedBytes(WeightBytes(c));
}

absl::Status ExecuteDepthwise(const UnitCall& call, const PartRanges& part) {
  const Command& c = call.command;
  MatrixMath math;
  if (!ChooseMath(c, math)) return UnsupportedDType(c, c.in0.dtype);
  ScratchCursor cursor(call.scratch);
  WindowSource source = MakeSource(c);
  source.TakeScratch(cursor);
  const bool as_floats = UsesByteKernel(c, math, source);
  const WindowOp op = as_floats ? WindowOp::kMultiplyAddBytes : WindowOp::kMultiplyAdd;
  const std::byte* weights = Resolve(c.in1, call.memory);
  if (!WeightsInPlace(c)) {
    auto* widened = cursor.Take<std::byte>(WeightBytes(c));
    LoadWeights(c, math, weights, widened);
    if (as_floats) IntsToFloats(widened, WeightBytes(c) / 4);
    weights = widened;
  }
  std::byte* sums = Resolve(c.acc, call.memory);
  const OutputStage output(c, call.memory);
  const int64_t width = c.extent[1], pixel_bytes = int64_t{c.extent[2]} * 4;
  source.Walk(Resolve(c.in0, call.memory), part.loop[0],
              [&](WindowJob& job, const WindowRun& run, int64_t pixel) {
                job.weights = weights;
                job.accumulate = c.flags & kFlagAccumulate;
                job.output = sums + (run.row * width + run.column + pixel) * pixel_bytes;
                job.output_step_bytes = pixel_bytes;
                RunWindow(op, job);
                const bool row_done = run.column + pixel + job.pixels == width;
                if (row_done) output.Write(run.row, {0, width}, {0, c.extent[2]});
              });
  return absl::OkStatus();
}

}  // namespace berth
