#include "npu_sim/units/output_stage.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/integer_store.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/memory.h"
#include "npu_sim/units/output_kernels.h"
#include "npu_sim/units/requantize_kernels.h"
#include "npu_sim/units/scalar_functions.h"

namespace berth {
namespace {

// Rows of at most so many columns are written several at once, with the bias repeated; float rows,
// which have a kernel for many rows, only where a row leaves vectors half empty.
constexpr int64_t kNarrowColumns = kChunkElements / 2;
constexpr int64_t kNarrowDirectColumns = 48;
constexpr int64_t kWordBytes = 4;

}  // namespace

OutputStage::OutputStage(const Command& command, const MemoryMap& memory)
    : c_(command),
      sums_(Resolve(command.acc, memory)),
      bias_(Resolve(command.in2, memory)),
      out_(Resolve(command.out, memory)),
      out_bytes_(DTypeBytes(command.out.dtype)),
      is_float_(IsFloat(command.in0.dtype)) {}

void OutputStage::Write(int64_t i0, Range rows, Range columns) const {
  if (!(c_.flags & kFlagWriteOut)) return;
  const int64_t width = c_.extent[2];
  const std::byte* sums =
      sums_ + ((i0 * c_.extent[1] + rows.begin) * width + columns.begin) * kWordBytes;
  const int64_t row_stride = c_.out.stride_bytes[1], column_stride = c_.out.stride_bytes[2];
  std::byte* out =
      out_ + i0 * c_.out.stride_bytes[0] + rows.begin * row_stride + columns.begin * column_stride;
  const bool dense = column_stride == out_bytes_ && row_stride == width * out_bytes_;
  const bool mergeable = dense && width <= kNarrowColumns && columns.count() == width;
  if (mergeable && width <= kNarrowDirectColumns) return WriteMerged(sums, out, rows);
  if (WriteDirect(sums, out, rows, columns)) return;
  if (mergeable) return WriteMerged(sums, out, rows);
  alignas(64) std::byte bias[kChunkElements * kWordBytes];
  alignas(64) float factors[kChunkElements];
  for (int64_t c = 0; c < columns.count(); c += kChunkElements) {
    const int64_t count = std::min(kChunkElements, columns.count() - c);
    const ColumnTerms terms =
        LoadTerms({columns.begin + c, columns.begin + c + count}, bias, factors);
    for (int64_t row = 0; row < rows.count(); ++row) {
      WriteChunk(sums + (row * width + c) * kWordBytes, terms, count,
                 out + row * row_stride + c * column_stride, column_stride);
    }
  }
}

bool OutputStage::WriteDirect(const std::byte* sums, std::byte* out, Range rows,
                              Range columns) const {
  const bool float_out = c_.out.dtype == DType::kFloat32 && c_.out.stride_bytes[2] == kWordBytes &&
                         c_.out.stride_bytes[1] % kWordBytes == 0;
  const bool float_bias =
      bias_ == nullptr || (c_.in2.dtype == DType::kFloat32 && c_.in2.stride_bytes[2] == kWordBytes);
  if (!is_float_ || !float_out || !float_bias) return false;
  FloatOutput o;
  o.sums = reinterpret_cast<const float*>(sums);
  o.sums_step = c_.extent[2];
  if (bias_ != nullptr) o.bias = reinterpret_cast<const float*>(bias_) + columns.begin;
  o.out = reinterpret_cast<float*>(out);
  o.out_step = c_.out.stride_bytes[1] / kWordBytes;
  o.rows = rows.count();
  o.columns = columns.count();
  o.activation = c_.params.matrix.activation;
  o.alpha = c_.params.matrix.activation_alpha;
  o.beta = c_.params.matrix.activation_beta;
  BiasAndActivate(o);
  return true;
}

void OutputStage::WriteMerged(const std::byte* sums, std::byte* out, Range rows) const {
  const int64_t width = c_.extent[2];
  const int64_t group = std::min(rows.count(), kChunkElements / width);
  alignas(64) std::byte bias[kChunkElements * kWordBytes];
  alignas(64) float factors[kChunkElements];
  const ColumnTerms terms = LoadTerms({0, width}, bias, factors);
  const auto row_bytes = static_cast<size_t>(width * kWordBytes);
  for (int64_t i = 1; i < group; ++i) {
    if (terms.bias != nullptr) std::memcpy(bias + i * width * kWordBytes, bias, row_bytes);
    if (terms.factors != nullptr) std::memcpy(factors + i * width, factors, row_bytes);
  }
  for (int64_t row = 0; row < rows.count(); row += group) {
    const int64_t count = std::min(group, rows.count() - row) * width;
    WriteChunk(sums + row * width * kWordBytes, terms, count, out + row * width * out_bytes_,
               out_bytes_);
  }
}

OutputStage::ColumnTerms OutputStage::LoadTerms(Range columns, std::byte* bias,
                                                float* factors) const {
  if (bias_ == nullptr) return {};
  const int64_t stride = c_.in2.stride_bytes[2], count = columns.count();
  const std::byte* source = bias_ + columns.begin * stride;
  if (is_float_) {
    LoadFloats(c_.in2.dtype, source, stride, count, reinterpret_cast<float*>(bias));
    return {bias, nullptr};
  }
  // Of a pair the bias is the low half.
  GatherElements(source, stride, kWordBytes, count, bias);
  if (c_.in2.dtype != DType::kInt64) return {bias, nullptr};
  GatherElements(source + kWordBytes, stride, kWordBytes, count,
                 reinterpret_cast<std::byte*>(factors));
  return {bias, factors};
}

void OutputStage::WriteChunk(const std::byte* sums, const ColumnTerms& terms, int64_t count,
                             std::byte* out, int64_t stride_bytes) const {
  if (is_float_) {
    return WriteFloats(reinterpret_cast<const float*>(sums),
                       reinterpret_cast<const float*>(terms.bias), count, out, stride_bytes);
  }
  ScaledIntegers from;
  from.sums = reinterpret_cast<const int32_t*>(sums);
  from.bias = reinterpret_cast<const int32_t*>(terms.bias);
  from.scales = terms.factors;
  from.scale = c_.params.matrix.out_scale;
  WriteInts(from, count, out, stride_bytes);
}

void OutputStage::WriteFloats(const float* sums, const float* bias, int64_t count, std::byte* out,
                              int64_t stride_bytes) const {
  const MatrixParams& params = c_.params.matrix;
  const bool direct = c_.out.dtype == DType::kFloat32 && stride_bytes == kWordBytes;
  alignas(64) float values[kChunkElements];
  FloatOutput o;
  o.sums = sums;
  o.bias = bias;
  o.out = direct ? reinterpret_cast<float*>(out) : values;
  o.columns = count;
  o.activation = params.activation;
  o.alpha = params.activation_alpha;
  o.beta = params.activation_beta;
  BiasAndActivate(o);
  if (direct) return;
  if (IsFloat(c_.out.dtype)) {
    alignas(8) std::byte dense[kChunkElements * 8];
    FromFloat(c_.out.dtype, values, count, dense);
    ScatterElements(dense, out_bytes_, count, out, stride_bytes);
    return;
  }
  ComputeUnaryFloat(UnaryFunction::kAffine, params.out_scale, 0, values, static_cast<size_t>(count),
                    values);
  StoreRounded(c_.out.dtype, values, count, params.out_zero_point, out, stride_bytes);
}

void OutputStage::WriteInts(const ScaledIntegers& from, int64_t count, std::byte* out,
                            int64_t stride_bytes) const {
  if (IsInteger(c_.out.dtype) && out_bytes_ >= kWordBytes) {
    return WriteWideInts(from.sums, from.bias, count, out, stride_bytes);
  }
  const MatrixParams& params = c_.params.matrix;
  const bool clamps = params.activation != Activation::kLeakyRelu;
  if (clamps && IsNarrowInteger(c_.out.dtype)) {
    if (stride_bytes == out_bytes_) return RoundScaled(from, count, NarrowTarget(out));
    alignas(8) std::byte dense[kChunkElements * 2];
    RoundScaled(from, count, NarrowTarget(dense));
    return ScatterElements(dense, out_bytes_, count, out, stride_bytes);
  }
  alignas(64) float values[kChunkElements];
  ScaleIntegers(from, count, values);
  if (params.activation != Activation::kNone) {
    ComputeUnaryFloat(FunctionOf(params.activation), params.activation_alpha,
                      params.activation_beta, values, static_cast<size_t>(count), values);
  }
  if (IsFloat(c_.out.dtype)) {
    alignas(8) std::byte dense[kChunkElements * 8];
    FromFloat(c_.out.dtype, values, count, dense);
    ScatterElements(dense, out_bytes_, count, out, stride_bytes);
  } else {
    StoreRounded(c_.out.dtype, values, count, params.out_zero_point, out, stride_bytes);
  }
}

// A clamping activation narrows the bounds: rounding keeps the order of values.
IntegerTarget OutputStage::NarrowTarget(std::byte* out) const {
  const MatrixParams& params = c_.params.matrix;
  IntegerTarget to = FullRange(c_.out.dtype, params.out_zero_point, out);
  const auto clamp_to_range = [&](float x) {
    return std::clamp(std::nearbyint(x), to.low, to.high);
  };
  if (params.activation == Activation::kRelu) {
    to.low = clamp_to_range(0.0f);
  } else if (params.activation == Activation::kClip) {
    const float high = clamp_to_range(params.activation_beta);  // wins where the bounds cross
    to.low = std::min(clamp_to_range(params.activation_alpha), high);
    to.high = high;
  }
  return to;
}

void OutputStage::WriteWideInts(const int32_t* sums, const int32_t* bias, int64_t count,
                                std::byte* out, int64_t stride_bytes) const {
  const MatrixParams& params = c_.params.matrix;
  const UnaryFunction activation = FunctionOf(params.activation);
  int64_t wide[kChunkElements];
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t sum =
        static_cast<uint32_t>(sums[i]) + (bias != nullptr ? static_cast<uint32_t>(bias[i]) : 0u);
    wide[i] = UnaryOfInteger<int32_t>(activation, params.activation_alpha, params.activation_beta,
                                      static_cast<int32_t>(sum));
  }
  StoreInt64s(c_.out.dtype, wide, count, out, stride_bytes);
}

}  // namespace berth
