// kPool. Floats and bytes with dense channels stay in their dtype; other floats go through float.
//
// Averages of integers are averages of (value - zero_point), rounded half to even, plus zero_point:
// padding that counts (kAverageAll) counts as the zero point. A window without any sample gives the
// lowest value (kMax) or the zero point (averages).
#include <algorithm>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/integer_store.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/requantize_kernels.h"
#include "npu_sim/units/unit_ops.h"
#include "npu_sim/units/window_source.h"

namespace berth {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

WindowSource MakeSource(const Command& c) {
  const bool average = c.params.vector.function != static_cast<uint8_t>(PoolFunction::kMax);
  const bool ints = average && IsByte(c.in0.dtype);
  return WindowSource(c, c.params.vector.window, average ? c.params.vector.zero_point : 0,
                      ints ? WindowSource::Wide::kInt32 : WindowSource::Wide::kFloat);
}

int64_t RowBytes(const Command& c) { return ScratchCursor::AlignedBytes(int64_t{c.extent[2]} * 4); }

class Pool {
 public:
  Pool(const UnitCall& call, float* row)
      : c_(call.command),
        out_(Resolve(c_.out, call.memory)),
        row_(row),
        function_(static_cast<PoolFunction>(c_.params.vector.function)),
        out_bytes_(DTypeBytes(c_.out.dtype)) {}

  void Run(WindowJob& job, const WindowRun& run, int64_t pixel) const {
    std::byte* out =
        out_ + run.row * c_.out.stride_bytes[0] + (run.column + pixel) * c_.out.stride_bytes[1];
    const bool dense = c_.out.stride_bytes[2] == out_bytes_ || c_.extent[2] == 1;
    const bool same = job.input_dtype == c_.out.dtype;
    if (dense && same && (function_ == PoolFunction::kMax || !IsByte(c_.out.dtype))) {
      RunInPlace(job, out);
    } else {
      RunThroughRow(job, out);
    }
  }

 private:
  float Scale(const WindowJob& job) const {
    if (function_ == PoolFunction::kAverageAll) return c_.params.vector.alpha;
    return job.taps.count > 0 ? 1.0f / static_cast<float>(job.taps.count) : 0.0f;
  }

  void RunInPlace(WindowJob& job, std::byte* out) const {
    job.output = out;
    job.output_step_bytes = c_.out.stride_bytes[1];
    if (function_ == PoolFunction::kMax) return RunWindow(WindowOp::kMax, job);
    RunWindow(WindowOp::kSum, job);
    const bool one_run = c_.out.stride_bytes[1] == c_.extent[2] * out_bytes_;
    const int64_t count = one_run ? job.pixels * c_.extent[2] : c_.extent[2];
    for (int64_t i = 0; i < (one_run ? 1 : job.pixels); ++i) {
      auto* values = reinterpret_cast<float*>(out + i * c_.out.stride_bytes[1]);
      ComputeUnaryFloat(UnaryFunction::kAffine, Scale(job), 0, values, static_cast<size_t>(count),
                        values);
    }
  }

  // One pixel at a time: results in scratch, then converted and scattered.
  void RunThroughRow(const WindowJob& job, std::byte* out) const {
    WindowJob single = job;
    single.pixels = 1;
    single.output = reinterpret_cast<std::byte*>(row_);
    const int64_t stride = c_.out.stride_bytes[2];
    for (int64_t i = 0; i < job.pixels; ++i, out += c_.out.stride_bytes[1]) {
      single.input = job.input + i * job.input_step_bytes;
      if (function_ != PoolFunction::kMax) {
        RunWindow(WindowOp::kSum, single);
        StoreAverages(Scale(job), single.input_dtype == DType::kFloat32, out);
      } else {
        RunWindow(WindowOp::kMax, single);
        StoreMaxima(single.input_dtype, out, stride);
      }
    }
  }

  void StoreMaxima(DType dtype, std::byte* out, int64_t stride) const {
    const auto* row = reinterpret_cast<const std::byte*>(row_);
    if (dtype == c_.out.dtype) return ScatterElements(row, out_bytes_, c_.extent[2], out, stride);
    StoreFloats(out, stride);
  }

  void StoreAverages(float scale, bool is_float, std::byte* out) const {
    const int64_t channels = c_.extent[2], stride = c_.out.stride_bytes[2];
    if (!is_float) {
      ScaledIntegers from;
      from.sums = reinterpret_cast<const int32_t*>(row_);
      from.scale = scale;
      ScaleIntegers(from, channels, row_);
      StoreRounded(c_.out.dtype, row_, channels, c_.params.vector.zero_point, out, stride);
      return;
    }
    ComputeUnaryFloat(UnaryFunction::kAffine, scale, 0, row_, static_cast<size_t>(channels), row_);
    StoreFloats(out, stride);
  }

  void StoreFloats(std::byte* out, int64_t stride) const {
    if (IsInteger(c_.out.dtype)) {
      return StoreRounded(c_.out.dtype, row_, c_.extent[2], 0, out, stride);
    }
    alignas(8) std::byte dense[kChunkElements * 8];
    for (int64_t i = 0; i < c_.extent[2]; i += kChunkElements) {
      const int64_t n = std::min<int64_t>(kChunkElements, c_.extent[2] - i);
      FromFloat(c_.out.dtype, row_ + i, n, dense);
      ScatterElements(dense, out_bytes_, n, out + i * stride, stride);
    }
  }

  const Command& c_;
  std::byte* const out_;
  float* const row_;
  const PoolFunction function_;
  const int64_t out_bytes_;
};

bool IsSupported(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         IsByte(dtype);
}

}  // namespace

int64_t PoolScratchBytes(const Command& c) { return MakeSource(c).ScratchBytes() + RowBytes(c); }

absl::Status ExecutePool(const UnitCall& call, const PartRanges& part) {
  const Command& c = call.command;
  if (!IsSupported(c.in0.dtype) || c.out.dtype != c.in0.dtype) {
    return UnsupportedDType(c, c.in0.dtype);
  }
  ScratchCursor cursor(call.scratch);
  WindowSource source = MakeSource(c);
  source.TakeScratch(cursor);
  const Pool pool(call, cursor.Take<float>(c.extent[2]));
  source.Walk(
      Resolve(c.in0, call.memory), part.loop[0],
      [&](WindowJob& job, const WindowRun& run, int64_t pixel) { pool.Run(job, run, pixel); });
  return absl::OkStatus();
}

}  // namespace berth
