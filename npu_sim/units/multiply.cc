#include "npu_sim/units/multiply.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/loop_nest.h"

namespace berth {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }
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
  return math.arithmetic == Arithmetic::kBytes && math.weight_dtype == DType::kUInt8;
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

}  // namespace

bool MatrixMath::SamplesAsStored() const {
  return arithmetic == Arithmetic::kBytes || sample_dtype == DType::kFloat32;
}
bool MatrixMath::WeightsAsStored() const {
  return weight_dtype == DType::kFloat32 ||
         (arithmetic == Arithmetic::kBytes && weight_dtype == DType::kInt8);
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
  const bool bytes = IsByte(c.in0.dtype) && IsByte(c.in1.dtype);
  math.arithmetic = bytes ? Arithmetic::kBytes : Arithmetic::kInts;
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
      return GatherBytes(view, ShiftsWeights(math) ? 0x80 : 0, target);
    case Arithmetic::kInts:
      break;
  }
  return ConvertToInts(math.weight_dtype, math.weight_zero_point, view, target);
}

void MultiplyBlock(const MatrixMath& math, const GemmShape& shape, const ReadyMatrix& samples,
                   const ReadyMatrix& weights, bool accumulate, std::byte* sums, int64_t ld_sums,
                   float* byte_scratch) {
  switch (math.arithmetic) {
    case Arithmetic::kFloat:
      return MultiplyFloats(shape, As<float>(samples), As<float>(weights), accumulate,
                            reinterpret_cast<float*>(sums), ld_sums);
    case Arithmetic::kInts:
      return MultiplyInts(shape, As<int32_t>(samples).data, samples.ld, As<int32_t>(weights).data,
                          weights.ld, accumulate, reinterpret_cast<int32_t*>(sums), ld_sums);
    case Arithmetic::kBytes:
      break;
  }
  ByteGemm gemm;
  gemm.shape = shape;
  gemm.a = As<uint8_t>(samples);
  gemm.a_signed = math.sample_dtype == DType::kInt8;
  gemm.a_zero_point = math.sample_zero_point;
  gemm.b = As<int8_t>(weights);
  gemm.b_zero_point = math.weight_zero_point - (ShiftsWeights(math) ? 128 : 0);
  gemm.accumulate = accumulate;
  gemm.c = reinterpret_cast<int32_t*>(sums);
  gemm.ldc = ld_sums;
  gemm.scratch = byte_scratch;
  MultiplyBytes(gemm);
}

}  // namespace berth
