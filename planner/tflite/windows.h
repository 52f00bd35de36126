// Where the windows of TFLite's spatial ops start: SAME and VALID padding in numbers.
#pragma once

#include <vector>

#include "planner/tflite/op_import.h"

namespace berth {

// One spatial axis.
struct TfliteWindow {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
};

// Strides and dilations from the file, each in [1, 2^15).
absl::Status CheckWindow(const TfliteWindow& window);

// SAME: ceil(input / stride) results, an odd row of padding at the end. VALID: none.
absl::Status PadWindow(tfl::Padding padding, int64_t input, TfliteWindow& window);

// strides, dilations, pads and kernel_shape of an ONNX node.
Attributes WindowAttributes(const std::vector<TfliteWindow>& windows, bool dilates);

}  // namespace berth
