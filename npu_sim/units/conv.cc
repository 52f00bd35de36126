// kConv as blocks of output pixels times weights.
//
// A 1x1 window without padding multiplies the samples where they stand (a pixel is a row of the
// product, `ld` its pitch); any other window goes through im2col into scratch, block by block.
// Weights are used in place when [kernel row, kernel column, channel] step as one loop and the
// output channels (or that loop) are dense; otherwise they are packed into scratch once per part.
#include <algorithm>

#include "npu_sim/units/im2col.h"
#include "npu_sim/units/multiply.h"
#include "npu_sim/units/output_stage.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

// Large enough that packing the weights for each block costs little, small enough for L2 and for
// the scratch of each worker.
constexpr int64_t kBlockBytes = int64_t{1} << 18;
constexpr int64_t kMinBlockRows = 96;
constexpr int64_t kMaxBlockRows = 1024;
// A shorter row of output pixels is not worth a multiplication of its own.
constexpr int64_t kMinDirectRow = 24;

int64_t Depth(const Command& c) { return WindowTapCount(c.params.matrix.window) * c.extent[3]; }

// The weights as a matrix [depth, output channels], if one stride walks the depth.
bool WeightMatrix(const Command& c, const std::byte* in1, Range columns, StridedMatrix& view) {
  const Window& w = c.params.matrix.window;
  const int64_t extent[] = {c.extent[3], w.kernel_width, w.kernel_height};
  const int64_t stride[] = {c.in1.stride_bytes[3], c.in1.stride_bytes[1], c.in1.stride_bytes[0]};
  int64_t length = 1, step = DTypeBytes(c.in1.dtype);
  for (int i = 0; i < 3; ++i) {
    if (extent[i] == 1) continue;
    if (length == 1) {
      step = stride[i];
    } else if (stride[i] != step * length) {
      return false;
    }
    length *= extent[i];
  }
  view = {in1 + columns.begin * c.in1.stride_bytes[2], length, columns.count(), step,
          c.in1.stride_bytes[2]};
  return true;
}

enum class SampleSource {
  kWholePlane,  // in place, all pixels are rows of one matrix
  kOutputRow,   // in place, one output row at a time
  kIm2Col,
};

// The samples of a 1x1 window under `count` pixels from output pixel [row, column] on.
StridedMatrix PointSamples(const Command& c, const std::byte* in0, int64_t row, int64_t column,
                           int64_t count) {
  const Window& w = c.params.matrix.window;
  const int64_t pixel_step = int64_t{w.stride_width} * c.in0.stride_bytes[1];
  return {in0 + row * w.stride_height * c.in0.stride_bytes[0] + column * pixel_step, count,
          c.extent[3], pixel_step, c.in0.stride_bytes[3]};
}

SampleSource ChooseSource(const Command& c, const MatrixMath& math) {
  const Window& w = c.params.matrix.window;
  const Range rows = RowAxis(w).Interior({0, c.extent[0]});
  const Range columns = ColumnAxis(w).Interior({0, c.extent[1]});
  const bool padded = rows.count() != c.extent[0] || columns.count() != c.extent[1] ||
                      w.pad_top != 0 || w.pad_left != 0;
  if (WindowTapCount(w) != 1 || padded || !math.SamplesAsStored()) return SampleSource::kIm2Col;
  const StridedMatrix view = PointSamples(c, nullptr, 0, 0, c.extent[1]);
  if (!IsGemmLayout(view, DTypeBytes(c.in0.dtype))) return SampleSource::kIm2Col;
  const int64_t row_step = int64_t{w.stride_height} * c.in0.stride_bytes[0];
  const StridedMatrix plane = PointSamples(c, nullptr, 0, 0, int64_t{c.extent[0]} * c.extent[1]);
  const bool one_matrix = c.extent[0] == 1 || row_step == view.row_stride_bytes * c.extent[1];
  if (one_matrix && IsGemmLayout(plane, DTypeBytes(c.in0.dtype))) return SampleSource::kWholePlane;
  return c.extent[1] >= kMinDirectRow ? SampleSource::kOutputRow : SampleSource::kIm2Col;
}

struct Plan {
  MatrixMath math;
  SampleSource source = SampleSource::kIm2Col;
  bool pack_weights = false;
  int64_t block_rows = 0;
  int64_t im2col_bytes = 0, converted_bytes = 0, weight_bytes = 0, product_bytes = 0;
  bool ok = false;
};

Plan MakePlan(const Command& c) {
  Plan plan;
  plan.ok = ChooseMath(c, plan.math);
  plan.source = ChooseSource(c, plan.math);
  const int64_t pixels = int64_t{c.extent[0]} * c.extent[1], depth = Depth(c);
  const int64_t row_bytes = depth * DTypeBytes(c.in0.dtype);
  plan.block_rows = std::min(pixels, std::clamp(kBlockBytes / std::max<int64_t>(1, row_bytes),
                                                kMinBlockRows, kMaxBlockRows));
  if (plan.source == SampleSource::kIm2Col) {
    plan.im2col_bytes = plan.block_rows * row_bytes;
    if (!plan.math.SamplesAsStored()) {
      plan.converted_bytes = plan.block_rows * depth * plan.math.SampleBytes();
    }
  }
  StridedMatrix weights;
  plan.pack_weights = !plan.math.WeightsAsStored() ||
                      !WeightMatrix(c, nullptr, {0, c.extent[2]}, weights) ||
                      !IsGemmLayout(weights, DTypeBytes(c.in1.dtype));
  if (plan.pack_weights) plan.weight_bytes = depth * c.extent[2] * plan.math.WeightBytes();
  plan.product_bytes =
      plan.math.ScratchBytes(plan.block_rows * c.extent[2], c.flags & kFlagAccumulate);
  return plan;
}

ReadyMatrix PackWeights(const Command& c, const MatrixMath& math, const std::byte* in1,
                        Range columns, std::byte* target) {
  const Window& w = c.params.matrix.window;
  const int64_t tap_bytes = c.extent[3] * columns.count() * math.WeightBytes();
  std::byte* next = target;
  for (int64_t r = 0; r < w.kernel_height; ++r) {
    for (int64_t s = 0; s < w.kernel_width; ++s, next += tap_bytes) {
      const StridedMatrix tap = {in1 + r * c.in1.stride_bytes[0] + s * c.in1.stride_bytes[1] +
                                     columns.begin * c.in1.stride_bytes[2],
                                 c.extent[3], columns.count(), c.in1.stride_bytes[3],
                                 c.in1.stride_bytes[2]};
      ConvertWeights(math, tap, next);
    }
  }
  return {target, columns.count(), false};
}

class Convolution {
 public:
  Convolution(const UnitCall& call, const Plan& plan, Range columns)
      : c_(call.command),
        plan_(plan),
        columns_(columns),
        in0_(Resolve(c_.in0, call.memory)),
        sums_(Resolve(c_.acc, call.memory)),
        output_(c_, call.memory),
        im2col_(c_, in0_) {
    ScratchCursor cursor(call.scratch);
    samples_ = cursor.Take<std::byte>(plan.im2col_bytes);
    converted_ = cursor.Take<std::byte>(plan.converted_bytes);
    auto* packed = cursor.Take<std::byte>(plan.weight_bytes);
    product_scratch_ = cursor.Take<std::byte>(plan.product_bytes);
    const std::byte* in1 = Resolve(c_.in1, call.memory);
    StridedMatrix view;
    if (plan.pack_weights) {
      weights_ = PackWeights(c_, plan.math, in1, columns, packed);
    } else if (WeightMatrix(c_, in1, columns, view)) {
      weights_ = AsStored(view, DTypeBytes(c_.in1.dtype));
    }
  }

  void RunRows(Range rows) {
    const int64_t width = c_.extent[1];
    const int64_t limit = plan_.source == SampleSource::kOutputRow ? width : plan_.block_rows;
    for (int64_t pixel = rows.begin * width; pixel < rows.end * width;) {
      int64_t count = std::min(limit, rows.end * width - pixel);
      if (plan_.source == SampleSource::kOutputRow) count = std::min(count, width - pixel % width);
      RunBlock(pixel, count);
      pixel += count;
    }
  }

 private:
  ReadyMatrix SamplesOf(int64_t pixel, int64_t count) {
    const int64_t width = c_.extent[1], element_bytes = DTypeBytes(c_.in0.dtype);
    if (plan_.source != SampleSource::kIm2Col) {
      const int64_t row = pixel / width, column = pixel % width;
      return AsStored(PointSamples(c_, in0_, row, column, count), element_bytes);
    }
    const int64_t depth = im2col_.depth();
    im2col_.Fill(pixel, count, samples_);
    const StridedMatrix view = {samples_, count, depth, depth * element_bytes, element_bytes};
    if (plan_.math.SamplesAsStored()) return AsStored(view, element_bytes);
    return ConvertSamples(plan_.math, view, converted_);
  }

  void RunBlock(int64_t pixel, int64_t count) {
    const int64_t width = c_.extent[1];
    const ReadyMatrix samples = SamplesOf(pixel, count);
    MultiplyBlock(plan_.math, {count, columns_.count(), im2col_.depth()}, samples, weights_,
                  c_.flags & kFlagAccumulate, sums_ + (pixel * c_.extent[2] + columns_.begin) * 4,
                  c_.extent[2], product_scratch_);
    for (int64_t done = 0; done < count;) {  // the output stage works along output rows
      const int64_t column = (pixel + done) % width;
      const int64_t run = std::min(count - done, width - column);
      output_.Write((pixel + done) / width, {column, column + run}, columns_);
      done += run;
    }
  }

  const Command& c_;
  const Plan& plan_;
  const Range columns_;
  const std::byte* const in0_;
  std::byte* const sums_;
  const OutputStage output_;
  const Im2Col im2col_;
  std::byte* samples_ = nullptr;
  std::byte* converted_ = nullptr;
  std::byte* product_scratch_ = nullptr;
  ReadyMatrix weights_;
};

}  // namespace

int64_t ConvScratchBytes(const Command& c) {
  const Plan plan = MakePlan(c);
  return ScratchCursor::AlignedBytes(plan.im2col_bytes) +
         ScratchCursor::AlignedBytes(plan.converted_bytes) +
         ScratchCursor::AlignedBytes(plan.weight_bytes) +
         ScratchCursor::AlignedBytes(plan.product_bytes);
}

absl::Status ExecuteConv(const UnitCall& call, const PartRanges& part) {
  const Plan plan = MakePlan(call.command);
  if (!plan.ok) return UnsupportedDType(call.command, call.command.in0.dtype);
  Convolution(call, plan, part.loop[2]).RunRows(part.loop[0]);
  return absl::OkStatus();
}

}  // namespace berth
