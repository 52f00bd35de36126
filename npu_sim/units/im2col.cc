#include "npu_sim/units/im2col.h"

#include <algorithm>
#include <cstring>

#include "npu_sim/units/copy_run.h"
#include "npu_sim/units/loop_nest.h"

namespace berth {

Im2Col::Im2Col(const Command& c, const std::byte* input)
    : rows_(RowAxis(c.params.matrix.window)), columns_(ColumnAxis(c.params.matrix.window)),
      input_(input), output_width_(c.extent[1]), channels_(c.extent[3]),
      element_bytes_(DTypeBytes(c.in0.dtype)), sample_bytes_(channels_ * element_bytes_),
      row_stride_(c.in0.stride_bytes[0]), pixel_stride_(c.in0.stride_bytes[1]),
      channel_stride_(channels_ == 1 ? element_bytes_ : c.in0.stride_bytes[3]),
      dense_rows_(channel_stride_ == element_bytes_ && pixel_stride_ == sample_bytes_ &&
                  columns_.dilation == 1 && columns_.upsample == 1) {
  if (IsFloat(c.in0.dtype)) return;
  const int64_t zero_point = c.params.matrix.in0_zero_point;  // little endian: low bytes first
  std::memcpy(&zero_point_, &zero_point, sizeof(zero_point_));
}

void Im2Col::Fill(int64_t first, int64_t count, std::byte* target) const {
  const int64_t row_bytes = depth() * element_bytes_;
  int64_t row = first / output_width_, column = first % output_width_;
  for (int64_t i = 0; i < count; ++i) {
    FillPixel(row, column, target + i * row_bytes);
    if (++column == output_width_) column = 0, ++row;
  }
}

void Im2Col::FillPixel(int64_t row, int64_t column, std::byte* target) const {
  const int64_t kernel_row_bytes = columns_.kernel * sample_bytes_;
  for (int64_t r = 0; r < rows_.kernel; ++r, target += kernel_row_bytes) {
    const int64_t y = rows_.Sample(row, r);
    if (y < 0) {
      FillZeroPoint(columns_.kernel, target);
    } else if (dense_rows_) {
      FillDenseKernelRow(input_ + y * row_stride_, column, target);
    } else {
      FillKernelRow(input_ + y * row_stride_, column, target);
    }
  }
}

void Im2Col::FillDenseKernelRow(const std::byte* input_row, int64_t column,
                                std::byte* target) const {
  const int64_t first = column * columns_.stride - columns_.pad;
  const int64_t begin = std::clamp<int64_t>(-first, 0, columns_.kernel);
  const int64_t end = std::clamp<int64_t>(columns_.input - first, begin, columns_.kernel);
  if (begin > 0) FillZeroPoint(begin, target);
  if (begin < end) {
    CopyRun(target + begin * sample_bytes_, input_row + (first + begin) * sample_bytes_,
            (end - begin) * sample_bytes_);
  }
  if (end < columns_.kernel) FillZeroPoint(columns_.kernel - end, target + end * sample_bytes_);
}

void Im2Col::FillKernelRow(const std::byte* input_row, int64_t column, std::byte* target) const {
  for (int64_t s = 0; s < columns_.kernel; ++s, target += sample_bytes_) {
    const int64_t x = columns_.Sample(column, s);
    if (x < 0) {
      FillZeroPoint(1, target);
    } else {
      GatherElements(input_row + x * pixel_stride_, channel_stride_, element_bytes_, channels_,
                     target);
    }
  }
}

void Im2Col::FillZeroPoint(int64_t samples, std::byte* target) const {
  if (zero_point_ == 0 || element_bytes_ == 1) {
    std::memset(target, static_cast<int>(zero_point_ & 0xff),
                static_cast<size_t>(samples * sample_bytes_));
  } else {
    GatherElements(reinterpret_cast<const std::byte*>(&zero_point_), 0, element_bytes_,
                   samples * channels_, target);
  }
}

}  // namespace berth
