#include "npu_sim/units/window_walk.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {
namespace {

class Walker {
 public:
  Walker(const Window& window, int64_t row_stride_bytes, int64_t pixel_stride_bytes,
         int64_t* tap_offsets, int64_t* tap_indices)
      : rows_(RowAxis(window)),
        columns_(ColumnAxis(window)),
        row_stride_(row_stride_bytes),
        pixel_stride_(pixel_stride_bytes),
        tap_offsets_(tap_offsets),
        tap_indices_(tap_indices) {}

  void WalkRow(int64_t row, int64_t output_width, absl::FunctionRef<void(const WindowRun&)> f) {
    const Range interior = columns_.Interior({0, output_width});
    for (int64_t column = 0; column < output_width;) {
      WindowRun run;
      run.row = row;
      run.column = column;
      run.pixels = column == interior.begin && interior.count() > 0 ? interior.count() : 1;
      run.input_offset_bytes = column * columns_.stride * pixel_stride_;
      run.input_step_bytes = columns_.stride * pixel_stride_;
      run.taps = FindTaps(row, column);
      f(run);
      column += run.pixels;
    }
  }

 private:
  WindowTaps FindTaps(int64_t row, int64_t column) {
    const int64_t base = column * columns_.stride * pixel_stride_;
    int64_t count = 0;
    for (int64_t r = 0; r < rows_.kernel; ++r) {
      const int64_t y = rows_.Sample(row, r);
      if (y < 0) continue;
      for (int64_t s = 0; s < columns_.kernel; ++s) {
        const int64_t x = columns_.Sample(column, s);
        if (x < 0) continue;
        tap_offsets_[count] = y * row_stride_ + x * pixel_stride_ - base;
        tap_indices_[count++] = r * columns_.kernel + s;
      }
    }
    return {tap_offsets_, tap_indices_, count};
  }

  const WindowAxis rows_, columns_;
  const int64_t row_stride_, pixel_stride_;
  int64_t* const tap_offsets_;
  int64_t* const tap_indices_;
};

}  // namespace

Range WindowAxis::Interior(Range outputs) const {
  if (upsample != 1) return {outputs.begin, outputs.begin};
  const int64_t reach = (kernel - 1) * dilation;
  const int64_t begin = std::max(outputs.begin, pad > 0 ? CeilDiv(pad, stride) : 0);
  const int64_t last_start = input - 1 - reach + pad;  // of a window inside the input
  const int64_t end = last_start < 0 ? begin : std::min(outputs.end, last_start / stride + 1);
  return {begin, std::max(begin, end)};
}

WindowAxis RowAxis(const Window& w) {
  return {w.kernel_height, w.stride_height,   w.dilation_height,
          w.pad_top,       w.upsample_height, w.input_height};
}
WindowAxis ColumnAxis(const Window& w) {
  return {w.kernel_width, w.stride_width,   w.dilation_width,
          w.pad_left,     w.upsample_width, w.input_width};
}

void WalkWindow(const Window& window, Range rows, int64_t output_width, int64_t row_stride_bytes,
                int64_t pixel_stride_bytes, int64_t* tap_offsets, int64_t* tap_indices,
                absl::FunctionRef<void(const WindowRun&)> function) {
  Walker walker(window, row_stride_bytes, pixel_stride_bytes, tap_offsets, tap_indices);
  for (int64_t row = rows.begin; row < rows.end; ++row) walker.WalkRow(row, output_width, function);
}

}  // namespace berth
