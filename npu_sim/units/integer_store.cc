#include "npu_sim/units/integer_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/requantize_kernels.h"
#include "npu_sim/units/scalar_functions.h"

namespace berth {
namespace {

template <typename T>
void StoreNarrow(const float* values, int64_t count, int32_t zero_point, std::byte* target,
                 int64_t stride_bytes) {
  const IntegerTarget to{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), zero_point};
  int32_t rounded[kChunkElements];
  T dense[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    std::byte* position = target + i * stride_bytes;
    const bool in_place = stride_bytes == static_cast<int64_t>(sizeof(T));
    T* narrow = in_place ? reinterpret_cast<T*>(position) : dense;
    RoundToIntegers(values + i, n, to, rounded);
    for (int64_t k = 0; k < n; ++k) narrow[k] = static_cast<T>(rounded[k]);
    if (!in_place) {
      ScatterElements(reinterpret_cast<const std::byte*>(dense), sizeof(T), n, position,
                      stride_bytes);
    }
  }
}

}  // namespace

void StoreRounded(DType dtype, const float* values, int64_t count, int32_t zero_point,
                  std::byte* target, int64_t stride_bytes) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if constexpr (sizeof(T) <= 2) {
        StoreNarrow<T>(values, count, zero_point, target, stride_bytes);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const double rounded = std::nearbyint(static_cast<double>(values[i])) + zero_point;
          const T value = SaturatingCast<T>(rounded);
          std::memcpy(target + i * stride_bytes, &value, sizeof(T));
        }
      }
    }
  });
}

}  // namespace berth
