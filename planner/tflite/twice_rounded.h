// How TFLite's own kernel of depthwise convolutions rounds.
//
// The factor from sums to steps of the result is a fixed-point number M * 2^-r, M in [1/2, 1) with
// 31 bits. The sum times M is rounded to a whole number, which over 2^r is rounded again, halves
// away from zero. About one value in 2^(r + 1) differs from rounding once; r is 5 to 9 in real
// models. XNNPACK, which runs the models that it can, and TFLite's other kernels round once.
#pragma once

#include "planner/tflite/op_import.h"

namespace berth {

// `sums`: the real results (channels first) of a depthwise convolution of inputs 0 (data) and 1
// (weights) before the activation. The same where results are not cut off at the least stored
// number, which is what lets the rounded numbers be 16 bits wide.
absl::StatusOr<ValueId> TwiceRounded(TfliteOpImport& op, ValueId sums, tfl::Activation activation);

}  // namespace berth
