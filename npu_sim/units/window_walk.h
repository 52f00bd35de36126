// How a window moves over one axis, and the walk of a window over an output plane in runs of pixels
// that see the same taps.
//
// Position of tap k for output o on the (upsampled) axis: o * stride + k * dilation - pad; the
// sample exists where that is a multiple of `upsample` in [0, input * upsample).
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "npu_sim/command.h"
#include "npu_sim/units/parts.h"

namespace berth {

struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1, pad = 0, upsample = 1, input = 0;

  // The input sample under tap `k` of output `o`; -1 where there is none.
  int64_t Sample(int64_t o, int64_t k) const {
    const int64_t position = o * stride + k * dilation - pad;
    if (position < 0) return -1;
    if (upsample == 1) return position < input ? position : -1;  // a division is slow
    if (position % upsample != 0) return -1;
    const int64_t sample = position / upsample;
    return sample < input ? sample : -1;
  }
  // Outputs in `outputs` all of whose taps have a sample; only without upsampling.
  Range Interior(Range outputs) const;
};
WindowAxis RowAxis(const Window& window);
WindowAxis ColumnAxis(const Window& window);

// The taps that a run of pixels sees: tap t reads `input_offset_bytes[t]` from the run's input and
// is number `weight_index[t]` of the kernel (row by row).
struct WindowTaps {
  const int64_t* input_offset_bytes = nullptr;
  const int64_t* weight_index = nullptr;
  int64_t count = 0;
};

// `pixels` neighbours of output row `row` from column `column` on. Tap offsets are relative to the
// tile's sample [0, 0] plus run.input_offset_bytes; each further pixel reads input_step_bytes on.
struct WindowRun {
  int64_t row = 0, column = 0, pixels = 0;
  int64_t input_offset_bytes = 0;
  int64_t input_step_bytes = 0;
  WindowTaps taps;
};

// Entries of each of the two tap arrays that the walk needs.
inline int64_t WindowTapCount(const Window& w) { return int64_t{w.kernel_height} * w.kernel_width; }

// Calls `function` for all pixels of the output rows x [0, output_width).
void WalkWindow(const Window& window, Range rows, int64_t output_width, int64_t row_stride_bytes,
                int64_t pixel_stride_bytes, int64_t* tap_offsets, int64_t* tap_indices,
                absl::FunctionRef<void(const WindowRun&)> function);

}  // namespace berth
