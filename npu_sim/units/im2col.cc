#include "npu_sim/units/im2col.h"

#include <algorithm>
#include <cstring>

#include "npu_sim/units/copy_run.h"
#include "npu_sim/units/loop_nest.h"

namespace berth {

// Pixels for which one kernel row after the other is copied: their rows stay in L1.
constexpr int64_t kMaxRun = 64;

Im2Col::Im2Col(const Command& c, const std::byte* input)
    : rows_(RowAxis(c.params.matrix.window)),
      columns_(ColumnAxis(c.params.matrix.window)),
      input_(input),
      output_width_(c.extent[1]),
      channels_(c.extent[3]),
      element_bytes_(DTypeBytes(c.in0.dtype)),
      sample_bytes_(channels_ * element_bytes_),
      row_stride_(c.in0.stride_bytes[0]),
      pixel_stride_(c.in0.stride_bytes[1]),
      channel_stride_(channels_ == 1 ? element_bytes_ : c.in0.stride_bytes[3]),
      dense_rows_(channel_stride_ == element_bytes_ && pixel_stride_ == sample_bytes_ &&
                  columns_.dilation == 1 && columns_.upsample == 1) {
  if (IsFloat(c.in0.dtype)) return;
  const int64_t zero_point = c.params.matrix.in0_zero_point;  // little endian: low bytes first
  std::memcpy(&zero_point_, &zero_point, sizeof(zero_point_));
}

void Im2Col::Fill(int64_t first, int64_t count, std::byte* target) const {
  const int64_t row_bytes = depth() * element_bytes_;
  for (int64_t done = 0; done < count;) {
    const int64_t column = (first + done) % output_width_;
    const int64_t run = std::min({count - done, output_width_ - column, kMaxRun});
    FillRun((first + done) / output_width_, column, run, target + done * row_bytes);
    done += run;
  }
}

void Im2Col::FillRun(int64_t row, int64_t column, int64_t count, std::byte* target) const {
  const int64_t kernel_row_bytes = columns_.kernel * sample_bytes_;
  const int64_t row_bytes = rows_.kernel * kernel_row_bytes;
  // Pixels whose kernel rows lie inside the input and are one run of bytes each.
  Range inside = dense_rows_ ? columns_.Interior({column, column + count}) : Range{};
  if (inside.count() <= 0) inside = {column + count, column + count};
  for (int64_t r = 0; r < rows_.kernel; ++r, target += kernel_row_bytes) {
    const int64_t y = rows_.Sample(row, r);
    const std::byte* input_row = input_ + y * row_stride_;
    for (int64_t i = 0; i < count; ++i) {
      std::byte* pixel = target + i * row_bytes;
      if (y < 0) {
        FillZeroPoint(columns_.kernel, pixel);
      } else if (column + i == inside.begin) {
        const int64_t first = inside.begin * columns_.stride - columns_.pad;
        CopyRuns(pixel, row_bytes, input_row + first * sample_bytes_,
                 columns_.stride * sample_bytes_, kernel_row_bytes, inside.count());
        i += inside.count() - 1;
      } else if (dense_rows_) {
        FillDenseKernelRow(input_row, column + i, pixel);
      } else {
        FillKernelRow(input_row, column + i, pixel);
      }
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
