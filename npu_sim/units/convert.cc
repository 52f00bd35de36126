#include "npu_sim/units/convert.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "npu_sim/units/highway_targets.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/scalar_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/convert.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Converts whole vectors and returns how many elements that was.
int64_t HalfToFloatVectors(const uint16_t* source, int64_t count, float* target) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto half = hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(source + i));
    hn::StoreU(hn::PromoteTo(d, half), d, target + i);
  }
  return i;
}

int64_t FloatToHalfVectors(const float* source, int64_t count, uint16_t* target) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
#if HWY_TARGET != HWY_EMU128  // plain C++ leaves rounding to the scalar loop
  for (; i + lanes <= count; i += lanes) {
    const auto half = hn::DemoteTo(d16, hn::LoadU(d, source + i));
    hn::StoreU(half, d16, reinterpret_cast<hwy::float16_t*>(target + i));
  }
#endif
  (void)source, (void)target, (void)count, (void)lanes;
  return i;
}

void BFloatToFloat(const uint16_t* source, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = uint32_t{source[i]} << 16;
    std::memcpy(target + i, &word, sizeof(word));
  }
}

void FloatToBFloat(const float* source, int64_t count, uint16_t* target) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t word;
    std::memcpy(&word, source + i, sizeof(word));
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    target[i] = static_cast<uint16_t>(is_nan ? ((word >> 16) | 0x40u) : rounded);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
HWY_EXPORT(HalfToFloatVectors);
HWY_EXPORT(FloatToHalfVectors);
HWY_EXPORT(BFloatToFloat);
HWY_EXPORT(FloatToBFloat);

void ToFloat(DType dtype, const std::byte* source, int64_t count, float* target) {
  const auto* words = reinterpret_cast<const uint16_t*>(source);
  if (dtype == DType::kBFloat16) {
    HWY_DYNAMIC_DISPATCH(BFloatToFloat)(words, count, target);
    return;
  }
  int64_t done = 0;
  if (dtype == DType::kFloat16) {
    done = HWY_DYNAMIC_DISPATCH(HalfToFloatVectors)(words, count, target);
  }
  VisitDType(dtype, [&]<typename T>() {
    const T* typed = reinterpret_cast<const T*>(source);
    for (int64_t i = done; i < count; ++i) target[i] = static_cast<float>(typed[i]);
  });
}

void FromFloat(DType dtype, const float* source, int64_t count, std::byte* target) {
  auto* words = reinterpret_cast<uint16_t*>(target);
  if (dtype == DType::kFloat32) {
    std::memcpy(target, source, static_cast<size_t>(count) * sizeof(float));
  } else if (dtype == DType::kFloat64) {
    std::copy_n(source, count, reinterpret_cast<double*>(target));
  } else if (dtype == DType::kBFloat16) {
    HWY_DYNAMIC_DISPATCH(FloatToBFloat)(source, count, words);
  } else {
    int64_t i = HWY_DYNAMIC_DISPATCH(FloatToHalfVectors)(source, count, words);
    for (; i < count; ++i) words[i] = Float32ToHalfBits(source[i]);
  }
}

void ToDouble(DType dtype, const std::byte* source, int64_t count, double* target) {
  VisitDType(dtype, [&]<typename T>() {
    const T* typed = reinterpret_cast<const T*>(source);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        target[i] = static_cast<double>(typed[i]);
      } else {
        target[i] = static_cast<float>(typed[i]);
      }
    }
  });
}

void FromDouble(DType dtype, const double* source, int64_t count, std::byte* target) {
  VisitDType(dtype, [&]<typename T>() {
    T* typed = reinterpret_cast<T*>(target);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        typed[i] = source[i] != 0;
      } else if constexpr (std::is_integral_v<T>) {
        typed[i] = SaturatingCast<T>(source[i]);
      } else if constexpr (std::is_same_v<T, double>) {
        typed[i] = source[i];
      } else {
        typed[i] = static_cast<T>(static_cast<float>(source[i]));
      }
    }
  });
}

namespace {

// Calls convert(dense elements, offset, count) for chunks of a strided run.
template <typename F>
void ForDenseChunks(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                    F convert) {
  const int64_t element_bytes = DTypeBytes(dtype);
  if (stride_bytes == element_bytes) return convert(source, 0, count);
  alignas(8) std::byte dense[kChunkElements * 8];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    GatherElements(source + i * stride_bytes, stride_bytes, element_bytes, n, dense);
    convert(dense, i, n);
  }
}

}  // namespace

void LoadFloats(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                float* target) {
  ForDenseChunks(dtype, source, stride_bytes, count,
                 [&](const std::byte* dense, int64_t offset, int64_t n) {
                   ToFloat(dtype, dense, n, target + offset);
                 });
}

void LoadDoubles(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                 double* target) {
  ForDenseChunks(dtype, source, stride_bytes, count,
                 [&](const std::byte* dense, int64_t offset, int64_t n) {
                   ToDouble(dtype, dense, n, target + offset);
                 });
}

void LoadInt64s(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                int64_t* target) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, source + i * stride_bytes, sizeof(T));
        target[i] = static_cast<int64_t>(value);
      }
    }
  });
}

void StoreInt64s(DType dtype, const int64_t* source, int64_t count, std::byte* target,
                 int64_t stride_bytes) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        const T value = static_cast<T>(source[i]);
        std::memcpy(target + i * stride_bytes, &value, sizeof(T));
      }
    }
  });
}

void LoadInts(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
              int32_t zero_point, int32_t* target) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, source + i * stride_bytes, sizeof(T));
        target[i] =
            static_cast<int32_t>(static_cast<uint32_t>(value) - static_cast<uint32_t>(zero_point));
      }
    }
  });
}

}  // namespace berth
#endif  // HWY_ONCE
