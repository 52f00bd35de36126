// Rounded, scaled values into integer storage of any width: shared by the vector unit's kRequantize
// and kQuantize and by the matrix unit's output stage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace berth {

// target[i] = saturate(round_half_even(values[i]) + zero_point), elements `stride_bytes` apart.
void StoreRounded(DType dtype, const float* values, int64_t count, int32_t zero_point,
                  std::byte* target, int64_t stride_bytes);

}  // namespace berth
