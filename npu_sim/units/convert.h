// Conversions of dense chunks between dtypes, and strided loads as floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace berth {

// Any real dtype as float (bool as 0 and 1).
void ToFloat(DType dtype, const std::byte* source, int64_t count, float* target);
// Rounds to nearest even; `dtype` is kFloat32, kFloat16, kBFloat16 or kFloat64.
void FromFloat(DType dtype, const float* source, int64_t count, std::byte* target);

// By way of double; into integers truncated and saturating, into bool by != 0.
void ToDouble(DType dtype, const std::byte* source, int64_t count, double* target);
void FromDouble(DType dtype, const double* source, int64_t count, std::byte* target);

// Elements `stride_bytes` apart as dense floats.
void LoadFloats(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                float* target);
void LoadDoubles(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                 double* target);
// Integers and bool; stores wrap to the dtype's width.
void LoadInt64s(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                int64_t* target);
void StoreInt64s(DType dtype, const int64_t* source, int64_t count, std::byte* target,
                 int64_t stride_bytes);
// Integers `stride_bytes` apart, less `zero_point`, as dense int32 (modulo 2^32).
void LoadInts(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
              int32_t zero_point, int32_t* target);

}  // namespace berth
