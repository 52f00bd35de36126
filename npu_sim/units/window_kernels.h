// Per-channel inner loops of depthwise convolution and pooling: each output pixel combines the same
// taps of a contiguous run of channels.
//
// Complexity: pixels x taps x channels; inputs and weights are read once per use from L1, several
// pixels share a weight, sums stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "npu_sim/units/window_walk.h"

namespace berth {

// Weights less their zero point are at most 255 in magnitude.
inline constexpr int64_t kMaxByteTaps = 128;

enum class WindowOp {
  kMultiplyAdd,  // float: float sums; int8, uint8, int32: int32 sums of (value - zero) * weight
  kMultiplyAddBytes,  // int8, uint8 with float weights, exact for at most kMaxByteTaps taps
  kMax,               // float, int8, uint8; the dtype stays
  kSum,               // float sums; int8, uint8, int32: int32 sums of value - zero
};

struct WindowJob {
  DType input_dtype = DType::kFloat32;
  const std::byte* input = nullptr;  // of the first pixel; channels are dense
  int64_t input_step_bytes = 0;      // to the next pixel
  int32_t input_zero_point = 0;
  WindowTaps taps;
  // kMultiplyAdd: rows of float or int32 (zero point subtracted), `channels` apart. Float for
  // kMultiplyAddBytes.
  const std::byte* weights = nullptr;
  int64_t channels = 0;
  int64_t pixels = 0;
  bool accumulate = false;  // not kMax: add to what the output holds
  std::byte* output = nullptr;
  int64_t output_step_bytes = 0;
};

// Writes `pixels` rows of channels. Without taps the result is 0, for kMax the lowest value.
void RunWindow(WindowOp op, const WindowJob& job);

}  // namespace berth
