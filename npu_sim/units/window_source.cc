#include "npu_sim/units/window_source.h"

#include "npu_sim/units/convert.h"

namespace berth {

constexpr int64_t kLoadedBytes = 4;

WindowSource::WindowSource(const Command& c, const Window& window, int32_t zero_point, Wide wide)
    : window_(window),
      dtype_(c.in0.dtype),
      width_(c.extent[1]),
      channels_(c.extent[2]),
      row_stride_(c.in0.stride_bytes[0]),
      pixel_stride_(c.in0.stride_bytes[1]),
      channel_stride_(channels_ == 1 ? DTypeBytes(dtype_) : c.in0.stride_bytes[2]),
      zero_point_(zero_point),
      wide_(wide),
      direct_(channel_stride_ == DTypeBytes(dtype_) &&
              (dtype_ == DType::kFloat32 || dtype_ == DType::kInt8 || dtype_ == DType::kUInt8)) {}

int64_t WindowSource::ScratchBytes() const {
  const int64_t taps = WindowTapCount(window_);
  const int64_t tables = 3 * ScratchCursor::AlignedBytes(taps * 8);
  return tables + (direct_ ? 0 : ScratchCursor::AlignedBytes(taps * channels_ * kLoadedBytes));
}

void WindowSource::TakeScratch(ScratchCursor& cursor) {
  const int64_t taps = WindowTapCount(window_);
  tap_offsets_ = cursor.Take<int64_t>(taps);
  tap_indices_ = cursor.Take<int64_t>(taps);
  loaded_offsets_ = cursor.Take<int64_t>(taps);
  if (!direct_) loaded_ = cursor.Take<std::byte>(taps * channels_ * kLoadedBytes);
}

void WindowSource::Walk(const std::byte* input, Range rows, Function function) const {
  WindowJob job;
  job.channels = channels_;
  if (direct_) {
    job.input_dtype = dtype_;
    job.input_zero_point = zero_point_;
  } else {
    job.input_dtype = wide_ == Wide::kFloat ? DType::kFloat32 : DType::kInt32;
  }
  const auto run_pixels = [&](const WindowRun& run) {
    const std::byte* first = input + run.input_offset_bytes;
    job.taps = run.taps;
    if (direct_) {
      job.input = first;
      job.input_step_bytes = run.input_step_bytes;
      job.pixels = run.pixels;
      return function(job, run, 0);
    }
    job.input = loaded_;
    job.taps.input_offset_bytes = loaded_offsets_;
    job.pixels = 1;
    for (int64_t pixel = 0; pixel < run.pixels; ++pixel) {
      LoadTaps(first + pixel * run.input_step_bytes, run);
      function(job, run, pixel);
    }
  };
  WalkWindow(window_, rows, width_, row_stride_, pixel_stride_, tap_offsets_, tap_indices_,
             run_pixels);
}

void WindowSource::LoadTaps(const std::byte* input, const WindowRun& run) const {
  for (int64_t t = 0; t < run.taps.count; ++t) {
    const std::byte* source = input + run.taps.input_offset_bytes[t];
    std::byte* target = loaded_ + t * channels_ * kLoadedBytes;
    loaded_offsets_[t] = t * channels_ * kLoadedBytes;
    if (wide_ == Wide::kFloat) {
      LoadFloats(dtype_, source, channel_stride_, channels_, reinterpret_cast<float*>(target));
    } else {
      LoadInts(dtype_, source, channel_stride_, channels_, zero_point_,
               reinterpret_cast<int32_t*>(target));
    }
  }
}

}  // namespace berth
