// Dense inner loops that turn values into integers of at most 16 bits, and integers into floats.
//
// Each element is one float multiplication or division, clamped and rounded to nearest even, so a
// plain loop gives the same bits. RoundScaled to 16 bits multiplies in float64: float32 has 24 bits,
// of which the sum takes up to 31 and the result 16, so that results near a half would go astray.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace berth {

// int8, uint8, int16, uint16.
bool IsNarrowInteger(DType dtype);

// Where rounded values go: clamp(x, low, high) rounds to an integer; zero_point is added.
struct IntegerTarget {
  DType dtype = DType::kInt8;
  float low = 0, high = 0;  // integers: bounds of the dtype less zero_point, or tighter
  int32_t zero_point = 0;
  std::byte* data = nullptr;
};
// The bounds of the dtype. NaN becomes the lowest value.
IntegerTarget FullRange(DType dtype, int32_t zero_point, std::byte* data);

// x = values[i].
void RoundFloats(const float* values, int64_t count, const IntegerTarget& to);
// x = float(sums[i] + bias[i]) * (scales == null ? scale : scales[i]); bias may be null; the sum is
// modulo 2^32.
struct ScaledIntegers {
  const int32_t* sums = nullptr;
  const int32_t* bias = nullptr;
  const float* scales = nullptr;
  float scale = 1;
};
void RoundScaled(const ScaledIntegers& from, int64_t count, const IntegerTarget& to);
// The same x as float32.
void ScaleIntegers(const ScaledIntegers& from, int64_t count, float* target);
// target[i] = values[i] / (scales == null ? scale : scales[i]).
void DivideByScales(const float* values, const float* scales, float scale, int64_t count,
                    float* target);

}  // namespace berth
