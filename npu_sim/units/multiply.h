// One block of a matrix command: rows of samples times weights, in the arithmetic that the dtypes
// ask for.
//
// MatrixMath chooses the arithmetic from the dtypes and zero points once; weights and samples that
// the arithmetic cannot read where they stand are converted into scratch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/units/gemm_core.h"
#include "npu_sim/units/memory.h"

namespace berth {

enum class Arithmetic {
  kFloat,  // float32 operands; 16-bit floats are widened
  kBytes,  // int8 and uint8, int32 sums
  kWords,  // int16 and uint16 samples, 8-bit weights: high and low bytes by themselves
  kInts,   // any other integers, int32 sums modulo 2^32
};

struct MatrixMath {
  Arithmetic arithmetic = Arithmetic::kFloat;
  DType sample_dtype = DType::kUndefined;
  DType weight_dtype = DType::kUndefined;
  int32_t sample_zero_point = 0, weight_zero_point = 0;

  // Whether operands are used as they stand (if their layout allows it).
  bool SamplesAsStored() const;
  bool WeightsAsStored() const;
  bool MultipliesBytes() const {
    return arithmetic == Arithmetic::kBytes || arithmetic == Arithmetic::kWords;
  }
  // Bytes of an operand's element when converted.
  int64_t SampleBytes() const {
    return arithmetic == Arithmetic::kBytes ? 1 : arithmetic == Arithmetic::kWords ? 2 : 4;
  }
  int64_t WeightBytes() const { return MultipliesBytes() ? 1 : 4; }
  // Of MultiplyBlock's scratch for blocks of at most so many sums.
  int64_t ScratchBytes(int64_t sums, bool accumulates) const;
};

// False where the dtypes have no arithmetic, or a zero point is no value of its operand's dtype.
bool ChooseMath(const Command& command, MatrixMath& math);

// A view of rows x columns elements, strides in bytes.
struct StridedMatrix {
  const std::byte* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride_bytes = 0, column_stride_bytes = 0;
};

// An operand ready to multiply: float, byte or int32 elements by the arithmetic.
struct ReadyMatrix {
  const std::byte* data = nullptr;
  int64_t ld = 0;
  bool transposed = false;
};

// Whether oneDNN can read the view where it stands.
bool IsGemmLayout(const StridedMatrix& view, int64_t element_bytes);
ReadyMatrix AsStored(const StridedMatrix& view, int64_t element_bytes);

// Dense conversion into `target` (rows x columns elements; of kWords all high bytes, then all low
// ones).
ReadyMatrix ConvertSamples(const MatrixMath& math, const StridedMatrix& view, std::byte* target);
ReadyMatrix ConvertWeights(const MatrixMath& math, const StridedMatrix& view, std::byte* target);

// sums[m, n] (+)= samples[m, k] * weights[k, n].
void MultiplyBlock(const MatrixMath& math, const GemmShape& shape, const ReadyMatrix& samples,
                   const ReadyMatrix& weights, bool accumulate, std::byte* sums, int64_t ld_sums,
                   std::byte* scratch);

}  // namespace berth
