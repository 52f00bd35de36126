// target[i] = sum over t of weight[t] * taps[t][i].
#pragma once

#include <cstdint>

namespace berth {

void WeightedSum(const float* const* taps, const float* weights, int64_t tap_count, int64_t count,
                 float* target);

}  // namespace berth
