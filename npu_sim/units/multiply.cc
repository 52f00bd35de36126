#include "npu_sim/units/multiply.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/loop_nest.h"

namespace berth {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }
bool IsWord(DType dtype) { return dtype == DType::kInt16 || dtype == DType::kUInt16; }
bool IsShortFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}
bool IsRepresentable(DType dtype, int32_t value) {
  bool result = false;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      result = std::in_range<T>(value);
    }
  });
  return result;
}

template <typename T>
GemmOperand<T> As(const ReadyMatrix& matrix) {
  return {reinterpret_cast<const T*>(matrix.data), matrix.ld, matrix.transposed};
}

// uint8 weights become int8 by x - 128, and so does their zero point.
bool ShiftsWeights(const MatrixMath& math) {
  return math.MultipliesBytes() && math.weight_dtype == DType::kUInt8;
}

template <typename F>
ReadyMatrix ConvertRows(const StridedMatrix& view, std::byte* target, int64_t bytes, F convert) {
  for (int64_t row = 0; row < view.rows; ++row) {
    convert(view.data + row * view.row_stride_bytes, target + row * view.columns * bytes);
  }
  return {target, view.columns, false};
}

ReadyMatrix ConvertToInts(DType dtype, int32_t zero_point, const StridedMatrix& view,
                          std::byte* target) {
  return ConvertRows(view, target, 4, [&](const std::byte* from, std::byte* to) {
    LoadInts(dtype, from, view.column_stride_bytes, view.columns, zero_point,
             reinterpret_cast<int32_t*>(to));
  });
}

ReadyMatrix ConvertToFloats(DType dtype, const StridedMatrix& view, std::byte* target) {
  return ConvertRows(view, target, 4, [&](const std::byte* from, std::byte* to) {
    LoadFloats(dtype, from, view.column_stride_bytes, view.columns, reinterpret_cast<float*>(to));
  });
}

ReadyMatrix GatherBytes(const StridedMatrix& view, uint8_t flip, std::byte* target) {
  return ConvertRows(view, target, 1, [&](const std::byte* from, std::byte* to) {
    GatherElements(from, view.column_stride_bytes, 1, view.columns, to);
    if (flip == 0) return;
    for (int64_t i = 0; i < view.columns; ++i) to[i] ^= std::byte{flip};
  });
}

ReadyMatrix SplitWords(const StridedMatrix& view, std::byte* target) {
  std::byte* low = target + view.rows * view.columns;
  for (int64_t row = 0; row < view.rows; ++row) {
    const std::byte* word = view.data + row * view.row_stride_bytes;  // little endian
    for (int64_t i = 0; i < view.columns; ++i, word += view.column_stride_bytes) {
      low[row * view.columns + i] = word[0];
      target[row * view.columns + i] = word[1];
    }
  }
  return {target, view.columns, false};
}

ByteGemm MakeByteGemm(const MatrixMath& math, const GemmShape& shape, const ReadyMatrix& samples,
                      const ReadyMatrix& weights, std::byte* scratch) {
  ByteGemm gemm;
  gemm.shape = shape;
  gemm.a = As<uint8_t>(samples);
  gemm.a_signed = IsSigned(math.sample_dtype);
  gemm.a_zero_point = math.sample_zero_point;
  gemm.b = As<int8_t>(weights);
  gemm.b_zero_point = math.weight_zero_point - (ShiftsWeights(math) ? 128 : 0);
  gemm.scratch = reinterpret_cast<float*>(scratch);
  return gemm;
}

// sums (+)= 256 * high, modulo 2^32.
void AddHighSums(const GemmShape& shape, const int32_t* high, int64_t ld_high, bool accumulate,
                 int32_t* sums, int64_t ld_sums) {
  for (int64_t m = 0; m < shape.m; ++m) {
    for (int64_t n = 0; n < shape.n; ++n) {
      const uint32_t before = accumulate ? static_cast<uint32_t>(sums[m * ld_sums + n]) : 0;
      const uint32_t sum = before + (static_cast<uint32_t>(high[m * ld_high + n]) << 8);
      sums[m * ld_sums + n] = static_cast<int32_t>(sum);
    }
  }
}

// Each word is 256 * high + low, and so is its zero point.
void MultiplyWords(const MatrixMath& math, const GemmShape& shape, const ReadyMatrix& samples,
                   const ReadyMatrix& weights, bool accumulate, int32_t* sums, int64_t ld_sums,
                   std::byte* scratch) {
  ByteGemm high = MakeByteGemm(math, shape, samples, weights, scratch);
  high.a_zero_point = math.sample_zero_point >> 8;
  high.c = accumulate ? reinterpret_cast<int32_t*>(scratch + kByteGemmScratchBytes) : sums;
  high.ldc = accumulate ? shape.n : ld_sums;
  MultiplyBytes(high);
  AddHighSums(shape, high.c, high.ldc, accumulate, sums, ld_sums);
  const ReadyMatrix low_bytes = {samples.data + shape.m * samples.ld, samples.ld, false};
  ByteGemm low = MakeByteGemm(math, shape, low_bytes, weights, scratch);
  low.a_signed = false;
  low.a_zero_point = math.sample_zero_point & 255;
  low.accumulate = true;
  low.c = sums;
  low.ldc = ld_sums;
  MultiplyBytes(low);
}

}  // namespace

bool MatrixMath::SamplesAsStored() const {
  return arithmetic == Arithmetic::kBytes || sample_dtype == DType::kFloat32;
}
bool MatrixMath::WeightsAsStored() const {
  return weight_dtype == DType::kFloat32 || (MultipliesBytes() && weight_dtype == DType::kInt8);
}
int64_t MatrixMath::ScratchBytes(int64_t sums, bool accumulates) const {
  if (!MultipliesBytes()) return 0;
  return kByteGemmScratchBytes + (arithmetic == Arithmetic::kWords && accumulates ? sums * 4 : 0);
}

bool ChooseMath(const Command& c, MatrixMath& math) {
  math.sample_dtype = c.in0.dtype;
  math.weight_dtype = c.in1.dtype;
  math.sample_zero_point = c.params.matrix.in0_zero_point;
  math.weight_zero_point = c.params.matrix.in1_zero_point;
  if (IsShortFloat(c.in0.dtype) && IsShortFloat(c.in1.dtype)) {
    math.arithmetic = Arithmetic::kFloat;
    return true;
  }
  if (!IsInteger(c.in0.dtype) || !IsInteger(c.in1.dtype)) return false;
  if (!IsRepresentable(c.in0.dtype, math.sample_zero_point) ||
      !IsRepresentable(c.in1.dtype, math.weight_zero_point)) {
    return false;
  }
  math.arithmetic = Arithmetic::kInts;
  if (!IsByte(c.in1.dtype)) return true;
  if (IsByte(c.in0.dtype)) math.arithmetic = Arithmetic::kBytes;
  if (IsWord(c.in0.dtype)) math.arithmetic = Arithmetic::kWords;
  return true;
}

bool IsGemmLayout(const StridedMatrix& view, int64_t element_bytes) {
  const int64_t row = view.row_stride_bytes, column = view.column_stride_bytes;
  const bool unit_columns = column == element_bytes || view.columns == 1;
  const bool unit_rows = row == element_bytes || view.rows == 1;
  const auto is_ld = [&](int64_t stride, int64_t run, int64_t count) {
    return count == 1 || (stride >= run * element_bytes && stride % element_bytes == 0);
  };
  return (unit_columns && is_ld(row, view.columns, view.rows)) ||
         (unit_rows && is_ld(column, view.rows, view.columns));
}

ReadyMatrix AsStored(const StridedMatrix& view, int64_t element_bytes) {
  const bool unit_columns = view.column_stride_bytes == element_bytes || view.columns == 1;
  const bool plain =
      unit_columns && (view.rows == 1 || view.row_stride_bytes >= view.columns * element_bytes);
  if (plain) {
    const int64_t ld = view.rows == 1 ? view.columns : view.row_stride_bytes / element_bytes;
    return {view.data, ld, false};
  }
  const int64_t ld = view.columns == 1 ? view.rows : view.column_stride_bytes / element_bytes;
  return {view.data, ld, true};
}

ReadyMatrix ConvertSamples(const MatrixMath& math, const StridedMatrix& view, std::byte* target) {
  switch (math.arithmetic) {
    case Arithmetic::kFloat:
      return ConvertToFloats(math.sample_dtype, view, target);
    case Arithmetic::kBytes:
      return GatherBytes(view, 0, target);
    case Arithmetic::kWords:
      return SplitWords(view, target);
    case Arithmetic::kInts:
      break;
  }
  return ConvertToInts(math.sample_dtype, math.sample_zero_point, view, target);
}

ReadyMatrix ConvertWeights(const MatrixMath& math, const StridedMatrix& view, std::byte* target) {
  switch (math.arithmetic) {
    case Arithmetic::kFloat:
      return ConvertToFloats(math.weight_dtype, view, target);
    case Arithmetic::kBytes:
    case Arithmetic::kWords:
      return GatherBytes(view, ShiftsWeights(math) ? 0x80 : 0, target);
    case Arithmetic::kInts:
      break;
  }
  return ConvertToInts(math.weight_dtype, math.weight_zero_point, view, target);
}

void MultiplyBlock(const MatrixMath& math, const GemmShape& shape, const ReadyMatrix& samples,
                   const ReadyMatrix& weights, bool accumulate, std::byte* sums, int64_t ld_sums,
                   std::byte* scratch) {
  auto* integers = reinterpret_cast<int32_t*>(sums);
  switch (math.arithmetic) {
    case Arithmetic::kFloat:
      return MultiplyFloats(shape, As<float>(samples), As<float>(weights), accumulate,
                            reinterpret_cast<float*>(sums), ld_sums);
    case Arithmetic::kInts:
      return MultiplyInts(shape, As<int32_t>(samples).data, samples.ld, As<int32_t>(weights).data,
                          weights.ld, accumulate, integers, ld_sums);
    case Arithmetic::kWords:
      return MultiplyWords(math, shape, samples, weights, accumulate, integers, ld_sums, scratch);
    case Arithmetic::kBytes:
      break;
  }
  ByteGemm gemm = MakeByteGemm(math, shape, samples, weights, scratch);
  gemm.accumulate = accumulate;
  gemm.c = integers;
  gemm.ldc = ld_sums;
  MultiplyBytes(gemm);
}

}  // namespace berth
