#include "planner/tflite/windows.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {

absl::Status CheckWindow(const TfliteWindow& window) {
  constexpr int64_t kLimit = 1 << 15;
  for (const int64_t value : {window.kernel, window.stride, window.dilation}) {
    if (value < 1 || value >= kLimit) {
      return InvalidArgument("a window of {} with stride {} and dilation {}", window.kernel,
                             window.stride, window.dilation);
    }
  }
  return absl::OkStatus();
}

absl::Status PadWindow(tfl::Padding padding, int64_t input, TfliteWindow& window) {
  BERTH_RETURN_IF_ERROR(CheckWindow(window));
  if (padding == tfl::Padding::VALID) return absl::OkStatus();
  if (padding != tfl::Padding::SAME) {
    return InvalidArgument("padding {} is unknown", static_cast<int>(padding));
  }
  const int64_t reach = (window.kernel - 1) * window.dilation + 1;
  const int64_t outputs = CeilDiv(input, window.stride);
  const int64_t total = std::max<int64_t>(0, (outputs - 1) * window.stride + reach - input);
  window.pad_begin = total / 2;
  window.pad_end = total - total / 2;
  return absl::OkStatus();
}

Attributes WindowAttributes(const std::vector<TfliteWindow>& windows, bool dilates) {
  std::vector<int64_t> kernel, strides, dilations, pads;
  for (const TfliteWindow& window : windows) {
    kernel.push_back(window.kernel);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    pads.push_back(window.pad_begin);
  }
  for (const TfliteWindow& window : windows) pads.push_back(window.pad_end);
  Attributes attributes;
  attributes.Set("kernel_shape", std::move(kernel));
  attributes.Set("strides", std::move(strides));
  attributes.Set("pads", std::move(pads));
  if (dilates) attributes.Set("dilations", std::move(dilations));
  return attributes;
}

}  // namespace berth
