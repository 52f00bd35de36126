// Resampling along axes: which input samples each output sample reads, with which weights. The axes
// of Resize and Upsample are independent, so one table for each axis says everything.
//
// Formulas: ONNX Resize (coordinate_transformation_mode, nearest_mode, cubic convolution).
#pragma once

#include <vector>

#include "kernels/op_def.h"

namespace berth {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kHalfPixelSymmetric,
};
enum class ResizeNearest : uint8_t {
  kRoundPreferFloor,
  kRoundPreferCeil,
  kFloor,
  kCeil,
  kLegacy,  // before version 11: ceil where the axis shrinks, else floor
};

// One axis of the data that changes.
struct ResizeAxis {
  int axis = 0;  // of the data, in its layout
  int64_t input = 1;
  int64_t output = 1;
  float scale = 1;
};

struct ResizePlan {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearest nearest = ResizeNearest::kRoundPreferFloor;
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false;
  std::vector<int64_t> output_extents;
  std::vector<ResizeAxis> axes;  // only those that change, ascending
};

// Reads a Resize or Upsample node of any version. Scales, sizes and axes are in ONNX's order of the
// axes (batch, channels, space) in both layouts.
absl::StatusOr<ResizePlan> ResolveResize(const OpCall& call);

// indices[o * taps + t] in [0, input) and its weight; nearest: one tap of weight 1.
struct AxisTaps {
  int64_t taps = 1;
  std::vector<int32_t> indices;
  std::vector<float> weights;
};
AxisTaps MakeAxisTaps(const ResizePlan& plan, const ResizeAxis& axis);

}  // namespace berth
