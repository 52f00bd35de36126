#include "kernels/ops/conv_axis.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"

namespace berth {
namespace {

// The phase of the outputs o = outputs.begin + first, + first + stride, ...
AxisPhase TransposedPhase(const AxisWindow& axis, IndexRange outputs, int64_t first) {
  AxisPhase phase;
  phase.out_first = first;
  phase.out_step = axis.stride;
  phase.out_count = CeilDiv(outputs.count - first, axis.stride);
  const int64_t position = outputs.begin + first + axis.pad_begin;  // = i * stride + k * dilation
  // Taps whose distance fits are `period` apart; the last one reads the first sample.
  const int64_t period = axis.stride / std::gcd(axis.stride, axis.dilation);
  const auto fits = [&](int64_t k) { return (position - k * axis.dilation) % axis.stride == 0; };
  int64_t last = axis.kernel - 1;
  while (last >= 0 && last > axis.kernel - 1 - period && !fits(last)) --last;
  if (last < 0 || !fits(last)) return phase;
  phase.tap_first = last;
  phase.tap_step = -period;
  phase.taps = last / period + 1;
  phase.first_sample = (position - last * axis.dilation) / axis.stride;
  phase.stride = 1;
  phase.dilation = period * axis.dilation / axis.stride;
  return phase;
}

// Of an ordinary convolution. SamplesOf is asked for it so often that it must not allocate.
AxisPhase OnlyPhase(const AxisWindow& axis, IndexRange outputs) {
  return {.out_count = outputs.count,
          .taps = axis.kernel,
          .first_sample = outputs.begin * axis.stride - axis.pad_begin,
          .stride = axis.stride,
          .dilation = axis.dilation};
}

}  // namespace

std::vector<AxisPhase> PhasesOf(const AxisWindow& axis, bool transposed, IndexRange outputs) {
  if (!transposed) return {OnlyPhase(axis, outputs)};
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(axis.stride, outputs.count); ++first) {
    phases.push_back(TransposedPhase(axis, outputs, first));
  }
  return phases;
}

IndexRange SamplesOf(const AxisWindow& axis, bool transposed, IndexRange outputs) {
  int64_t begin = axis.input, end = 0;
  const auto include = [&](const AxisPhase& phase) {
    if (phase.taps == 0) return;
    const int64_t last = phase.first_sample + (phase.out_count - 1) * phase.stride +
                         (phase.taps - 1) * phase.dilation;
    begin = std::min(begin, std::max<int64_t>(0, phase.first_sample));
    end = std::max(end, std::min(axis.input, last + 1));
  };
  if (transposed) {
    for (const AxisPhase& phase : PhasesOf(axis, transposed, outputs)) include(phase);
  } else {
    include(OnlyPhase(axis, outputs));
  }
  if (begin >= end) return {0, 1};
  return {begin, end - begin};
}

int64_t MostSamples(const AxisWindow& axis, bool transposed, int64_t count) {
  const int64_t reach = transposed ? (count - 1 + axis.effective_kernel() - 1) / axis.stride + 1
                                   : (count - 1) * axis.stride + axis.effective_kernel();
  return std::clamp<int64_t>(reach, 1, std::max<int64_t>(axis.input, 1));
}

int64_t SamplesOfAllTiles(const AxisWindow& axis, bool transposed, int64_t count) {
  int64_t total = 0;
  for (int64_t begin = 0; begin < axis.output; begin += count) {
    total += SamplesOf(axis, transposed, {begin, std::min(count, axis.output - begin)}).count;
  }
  return total;
}

}  // namespace berth
