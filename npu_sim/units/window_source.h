// Samples under a window for units that work channel by channel (depthwise convolution, pooling).
//
// Dense channels of float, int8 and uint8 are read where they stand; anything else is loaded tap by
// tap into scratch as float or int32, exactly the samples that the window reaches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/units/memory.h"
#include "npu_sim/units/window_kernels.h"
#include "npu_sim/units/window_walk.h"

namespace berth {

class WindowSource {
 public:
  enum class Wide { kFloat, kInt32 };  // what other dtypes are loaded as

  // Loops {row, pixel, channel} of `operand`; samples outside the tile count as `zero_point`.
  WindowSource(const Command& command, const Window& window, int32_t zero_point, Wide wide);

  // Whether samples are read where they stand, in their own dtype.
  bool direct() const { return direct_; }
  int64_t ScratchBytes() const;
  void TakeScratch(ScratchCursor& cursor);

  // Calls function(job, run, first pixel of the job in the run) for all pixels of `rows`; the job
  // lacks weights, output and `accumulate`.
  using Function = absl::FunctionRef<void(WindowJob& job, const WindowRun& run, int64_t pixel)>;
  void Walk(const std::byte* input, Range rows, Function function) const;

 private:
  void LoadTaps(const std::byte* input, const WindowRun& run) const;

  const Window window_;
  const DType dtype_;
  const int64_t width_, channels_;
  const int64_t row_stride_, pixel_stride_, channel_stride_;
  const int32_t zero_point_;
  const Wide wide_;
  const bool direct_;
  int64_t* tap_offsets_ = nullptr;
  int64_t* tap_indices_ = nullptr;
  int64_t* loaded_offsets_ = nullptr;
  std::byte* loaded_ = nullptr;
};

}  // namespace berth
