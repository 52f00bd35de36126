// Hybrid operators: float activations, 8-bit weights. TFLite rounds the activations to 8 bits when
// they arrive, with a scale of their own for each row (fully connected layers) or image
// (convolutions), and multiplies integers.
//
// Here the rounded activations are whole numbers in float32: sums of products with the weights are
// what TFLite's integers give, to the rounding of float32.
//
// XNNPACK, which runs the models that it can, and TFLite's kernels of convolutions map
// [min(0, least), max(0, most)] to [-128, 127] with a zero point that is a whole number; TFLite's
// kernel of fully connected layers maps +-max |x| to +-127 unless the file asks for the other.
#pragma once

#include "planner/tflite/op_import.h"

namespace berth {

// Whether inputs 0 and 1 (weights) are so, and nothing is quantized behind.
absl::StatusOr<bool> IsHybrid(TfliteOpImport& op);

// operands: x (a scale for each index of its axis 0), weights as reals, a bias over the channels
// (axis 1) or kNone.
struct HybridOperands {
  ValueId x = ValueId::kNone, weights = ValueId::kNone, bias = ValueId::kNone;
};
absl::StatusOr<ValueId> HybridProduct(TfliteOpImport& op, OpKind kind,
                                      const HybridOperands& operands, Attributes attributes,
                                      bool symmetric);

}  // namespace berth
