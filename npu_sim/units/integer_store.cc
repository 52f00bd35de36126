#include "npu_sim/units/integer_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/requantize_kernels.h"
#include "npu_sim/units/scalar_functions.h"

namespace berth {
namespace {

void StoreNarrow(DType dtype, const float* values, int64_t count, int32_t zero_point,
                 std::byte* target, int64_t stride_bytes) {
  const int64_t element_bytes = DTypeBytes(dtype);
  if (stride_bytes == element_bytes) {
    return RoundFloats(values, count, FullRange(dtype, zero_point, target));
  }
  alignas(8) std::byte dense[kChunkElements * 2];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    RoundFloats(values + i, n, FullRange(dtype, zero_point, dense));
    ScatterElements(dense, element_bytes, n, target + i * stride_bytes, stride_bytes);
  }
}

}  // namespace

void StoreRounded(DType dtype, const float* values, int64_t count, int32_t zero_point,
                  std::byte* target, int64_t stride_bytes) {
  if (IsNarrowInteger(dtype)) {
    return StoreNarrow(dtype, values, count, zero_point, target, stride_bytes);
  }
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
      for (int64_t i = 0; i < count; ++i) {
        const double rounded = std::nearbyint(static_cast<double>(values[i])) + zero_point;
        const T value = SaturatingCast<T>(rounded);
        std::memcpy(target + i * stride_bytes, &value, sizeof(T));
      }
    }
  });
}

}  // namespace berth
