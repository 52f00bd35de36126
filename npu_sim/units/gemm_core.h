// Matrix products on row-major operands: C[m, n] (+)= A[m, k] * B[k, n].
//
// Floats and 8-bit integers go to oneDNN on one thread (parallelism is the caller's). Integer
// products are exact: where oneDNN's kernels saturate intermediate sums (x86 without VNNI), slices
// of 256 of k are multiplied in float, whose 24 bits hold any sum of 256 products of 8-bit values.
#pragma once

#include <cstdint>

namespace berth {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

// An operand, row-major with `ld` elements to the next row; `transposed` when its rows are the
// columns of the product's operand.
template <typename T>
struct GemmOperand {
  const T* data = nullptr;
  int64_t ld = 0;
  bool transposed = false;
};

void MultiplyFloats(const GemmShape& shape, const GemmOperand<float>& a,
                    const GemmOperand<float>& b, bool accumulate, float* c, int64_t ldc);

// Bytes of working memory for MultiplyBytes.
inline constexpr int64_t kByteGemmScratchBytes = (32 * 256 + 256 * 64 + 32 * 64) * 4;

struct ByteGemm {
  GemmShape shape;
  GemmOperand<uint8_t> a;  // int8 when a_signed
  bool a_signed = false;
  int32_t a_zero_point = 0;  // in the range of a's type
  GemmOperand<int8_t> b;
  int32_t b_zero_point = 0;  // in the range of int8
  bool accumulate = false;
  int32_t* c = nullptr;
  int64_t ldc = 0;
  float* scratch = nullptr;
};
// C = (A - a_zero_point) * (B - b_zero_point), exactly.
void MultiplyBytes(const ByteGemm& gemm);

// Any int32 operands (zero points already subtracted), modulo 2^32; row-major, not transposed.
void MultiplyInts(const GemmShape& shape, const int32_t* a, int64_t lda, const int32_t* b,
                  int64_t ldb, bool accumulate, int32_t* c, int64_t ldc);

}  // namespace berth
