#include "npu_sim/units/gemm_core.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>

namespace berth {
namespace {

// oneDNN is built on OpenMP: for the length of a call the calling thread asks for one thread.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

char Transposition(bool transposed) { return transposed ? 'T' : 'N'; }

// oneDNN wants ld >= the row's length even where there is one row.
template <typename T>
int64_t LeadingDimension(const GemmOperand<T>& operand, int64_t rows, int64_t columns) {
  return std::max(operand.ld, operand.transposed ? rows : columns);
}

// Instruction sets with a dot product of bytes that does not saturate.
bool ByteGemmIsExact() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_amx:
      return true;
    default:
      return false;
  }
}

// Element [row, column] of an operand as it stands in the product.
template <typename T>
T At(const GemmOperand<T>& operand, int64_t row, int64_t column) {
  return operand.transposed ? operand.data[column * operand.ld + row]
                            : operand.data[row * operand.ld + column];
}

constexpr int64_t kExactRows = 32, kExactColumns = 64, kExactDepth = 256;

void WidenA(const ByteGemm& g, int64_t i0, int64_t m, int64_t p0, int64_t k, float* target) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const uint8_t value = At(g.a, i0 + i, p0 + p);
      const int32_t wide = g.a_signed ? static_cast<int8_t>(value) : value;
      target[i * k + p] = static_cast<float>(wide - g.a_zero_point);
    }
  }
}

void WidenB(const ByteGemm& g, int64_t p0, int64_t k, int64_t j0, int64_t n, float* target) {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < n; ++j) {
      target[p * n + j] = static_cast<float>(At(g.b, p0 + p, j0 + j) - g.b_zero_point);
    }
  }
}

void AddExactProduct(const float* product, int64_t m, int64_t n, int32_t* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto value = static_cast<uint32_t>(static_cast<int32_t>(product[i * n + j]));
      c[i * ldc + j] = static_cast<int32_t>(static_cast<uint32_t>(c[i * ldc + j]) + value);
    }
  }
}

void MultiplyBytesInFloat(const ByteGemm& g) {
  float* const a = g.scratch;
  float* const b = a + kExactRows * kExactDepth;
  float* const product = b + kExactDepth * kExactColumns;
  if (!g.accumulate) {
    for (int64_t i = 0; i < g.shape.m; ++i) std::fill_n(g.c + i * g.ldc, g.shape.n, 0);
  }
  for (int64_t j = 0; j < g.shape.n; j += kExactColumns) {
    const int64_t n = std::min(kExactColumns, g.shape.n - j);
    for (int64_t p = 0; p < g.shape.k; p += kExactDepth) {
      const int64_t k = std::min(kExactDepth, g.shape.k - p);
      WidenB(g, p, k, j, n, b);
      for (int64_t i = 0; i < g.shape.m; i += kExactRows) {
        const int64_t m = std::min(kExactRows, g.shape.m - i);
        WidenA(g, i, m, p, k, a);
        MultiplyFloats({m, n, k}, {a, k, false}, {b, n, false}, false, product, n);
        AddExactProduct(product, m, n, g.c + i * g.ldc + j, g.ldc);
      }
    }
  }
}

}  // namespace

void MultiplyFloats(const GemmShape& shape, const GemmOperand<float>& a,
                    const GemmOperand<float>& b, bool accumulate, float* c, int64_t ldc) {
  const OneThread one_thread;
  dnnl_sgemm(Transposition(a.transposed), Transposition(b.transposed), shape.m, shape.n, shape.k,
             1.0f, a.data, LeadingDimension(a, shape.m, shape.k), b.data,
             LeadingDimension(b, shape.k, shape.n), accumulate ? 1.0f : 0.0f, c, ldc);
}

void MultiplyBytes(const ByteGemm& g) {
  if (!ByteGemmIsExact()) return MultiplyBytesInFloat(g);
  const OneThread one_thread;
  const int32_t no_offset = 0;
  const char ta = Transposition(g.a.transposed), tb = Transposition(g.b.transposed);
  const int64_t lda = LeadingDimension(g.a, g.shape.m, g.shape.k);
  const int64_t ldb = LeadingDimension(g.b, g.shape.k, g.shape.n);
  const float beta = g.accumulate ? 1.0f : 0.0f;
  const auto b_zero_point = static_cast<int8_t>(g.b_zero_point);
  if (g.a_signed) {
    dnnl_gemm_s8s8s32(ta, tb, 'F', g.shape.m, g.shape.n, g.shape.k, 1.0f,
                      reinterpret_cast<const int8_t*>(g.a.data), lda,
                      static_cast<int8_t>(g.a_zero_point), g.b.data, ldb, b_zero_point, beta, g.c,
                      g.ldc, &no_offset);
  } else {
    dnnl_gemm_u8s8s32(ta, tb, 'F', g.shape.m, g.shape.n, g.shape.k, 1.0f, g.a.data, lda,
                      static_cast<uint8_t>(g.a_zero_point), g.b.data, ldb, b_zero_point, beta, g.c,
                      g.ldc, &no_offset);
  }
}

void MultiplyInts(const GemmShape& shape, const int32_t* a, int64_t lda, const int32_t* b,
                  int64_t ldb, bool accumulate, int32_t* c, int64_t ldc) {
  for (int64_t i = 0; i < shape.m; ++i) {
    int32_t* row = c + i * ldc;
    if (!accumulate) std::fill_n(row, shape.n, 0);
    for (int64_t p = 0; p < shape.k; ++p) {
      const auto factor = static_cast<uint32_t>(a[i * lda + p]);
      const int32_t* values = b + p * ldb;
      for (int64_t j = 0; j < shape.n; ++j) {
        row[j] = static_cast<int32_t>(static_cast<uint32_t>(row[j]) +
                                      factor * static_cast<uint32_t>(values[j]));
      }
    }
  }
}

}  // namespace berth
