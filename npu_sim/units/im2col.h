// Rows of samples that a convolution multiplies: for each output pixel the samples under its
// window, [kernel row, kernel column, channel], in the input's own dtype. Samples outside the tile
// (and between samples of an upsampled tile) are the zero point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/units/window_walk.h"

namespace berth {

class Im2Col {
 public:
  // `input` is sample [0, 0] channel 0. The command is a kConv.
  Im2Col(const Command& command, const std::byte* input);

  // Elements of a row.
  int64_t depth() const { return rows_.kernel * columns_.kernel * channels_; }
  // Rows of output pixels [first, first + count) in row-major order of the output plane.
  void Fill(int64_t first, int64_t count, std::byte* target) const;

 private:
  // Pixels [column, column + count) of one output row.
  void FillRun(int64_t row, int64_t column, int64_t count, std::byte* target) const;
  // One kernel row under one pixel.
  void FillKernelRow(const std::byte* input_row, int64_t column, std::byte* target) const;
  void FillDenseKernelRow(const std::byte* input_row, int64_t column, std::byte* target) const;
  void FillZeroPoint(int64_t samples, std::byte* target) const;

  const WindowAxis rows_, columns_;
  const std::byte* const input_;
  const int64_t output_width_, channels_;
  const int64_t element_bytes_, sample_bytes_;  // a sample: all channels, dense
  const int64_t row_stride_, pixel_stride_, channel_stride_;
  const bool dense_rows_;  // neighbouring taps of a kernel row are neighbours in memory
  uint64_t zero_point_ = 0;
};

}  // namespace berth
