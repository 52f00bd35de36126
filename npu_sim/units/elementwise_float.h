// Element-wise functions on dense float arrays at vector speed. `target` may be a source.
//
// Accuracy: a few units in the last place, erf and gelu ~1e-7 of 1. NaN goes through every function
// of reals (max and min too, as in NumPy).
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/command.h"

namespace berth {

// Functions of UnaryFunction except kNot.
void ComputeUnaryFloat(UnaryFunction function, float alpha, float beta, const float* source,
                       size_t count, float* target);
// kAdd .. kPRelu, kMod (sign of the dividend, as fmod) and the reversed forms.
void ComputeBinaryFloat(BinaryFunction function, const float* a, const float* b, size_t count,
                        float* target);
// kEqual .. kGreaterOrEqual.
void CompareFloats(BinaryFunction function, const float* a, const float* b, size_t count,
                   uint8_t* target);

}  // namespace berth
