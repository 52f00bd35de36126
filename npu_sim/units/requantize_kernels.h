// Dense inner loops that turn scaled values into integers.
//
// The product of an integer and a scale is one float multiplication, rounded to nearest even and
// then clamped, so a plain loop gives the same bits.
#pragma once

#include <cstdint>

namespace berth {

// Bounds of an integer type of at most 16 bits, and the zero point to add.
struct IntegerTarget {
  int32_t low = 0, high = 0, zero_point = 0;
};

// target[i] = clamp(round(values[i]) + zero_point). `target` may be `values`. NaN gives low.
void RoundToIntegers(const float* values, int64_t count, const IntegerTarget& to, int32_t* target);
// target[i] = float(values[i]) * scales[i].
void ScaleIntegers(const int32_t* values, const float* scales, int64_t count, float* target);
void ScaleIntegersByOne(const int32_t* values, float scale, int64_t count, float* target);
// target[i] = values[i] / scales[i].
void DivideByScales(const float* values, const float* scales, int64_t count, float* target);

}  // namespace berth
