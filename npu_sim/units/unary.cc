// kUnary over any dtype: floats through the vector kernels (16-bit ones by way of float), the rest
// element by element.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/scalar_functions.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

struct UnaryJob {
  UnaryFunction function;
  float alpha, beta;
};

void UnaryHalfChunk(const UnaryJob& job, DType dtype, std::byte* const* p, int64_t count) {
  float values[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    ToFloat(dtype, p[1] + i * 2, n, values);
    ComputeUnaryFloat(job.function, job.alpha, job.beta, values, static_cast<size_t>(n), values);
    FromFloat(dtype, values, n, p[0] + i * 2);
  }
}

template <typename T>
void UnaryTypedChunk(const UnaryJob& job, std::byte* const* p, int64_t count) {
  T* target = reinterpret_cast<T*>(p[0]);
  const T* source = reinterpret_cast<const T*>(p[1]);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      target[i] = job.function == UnaryFunction::kNot ? !source[i] : source[i];
    } else if constexpr (std::is_same_v<T, double>) {
      target[i] = UnaryOfReal(job.function, job.alpha, job.beta, source[i]);
    } else {
      target[i] = UnaryOfInteger<T>(job.function, job.alpha, job.beta, source[i]);
    }
  }
}

}  // namespace

absl::Status ExecuteUnary(const UnitCall& call) {
  const Command& c = call.command;
  const DType dtype = c.in0.dtype;
  const UnaryJob job{static_cast<UnaryFunction>(c.params.vector.function), c.params.vector.alpha,
                     c.params.vector.beta};
  if (c.out.dtype != dtype) return UnsupportedDType(c, c.out.dtype);
  if (job.function == UnaryFunction::kIdentity) return ExecuteCopy(call);
  if (IsFloat(dtype) && job.function == UnaryFunction::kNot) return UnsupportedDType(c, dtype);
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0});
  Normalize(nest);
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float>) {
      WalkChunks(nest, [&](std::byte* const* p, int64_t count) {
        ComputeUnaryFloat(job.function, job.alpha, job.beta, reinterpret_cast<const float*>(p[1]),
                          static_cast<size_t>(count), reinterpret_cast<float*>(p[0]));
      });
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
      WalkChunks(nest,
                 [&](std::byte* const* p, int64_t count) { UnaryHalfChunk(job, dtype, p, count); });
    } else {
      WalkChunks(nest,
                 [&](std::byte* const* p, int64_t count) { UnaryTypedChunk<T>(job, p, count); });
    }
  });
  return absl::OkStatus();
}

}  // namespace berth
