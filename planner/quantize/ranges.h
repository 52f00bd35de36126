// The range of values that an integer scale is to cover, from what calibration has seen.
//
// Sources: the thresholds of kEntropy are those of S. Migacz, "8-bit Inference with TensorRT" (GPU
// Technology Conference 2017): of all thresholds the one whose quantized histogram has the least
// Kullback-Leibler divergence from the histogram with its outliers moved into the last bin.
#pragma once

#include <optional>
#include <string_view>

#include "planner/quantize/statistics.h"

namespace berth {

enum class RangeMethod : uint8_t {
  kMinMax,      // everything that was seen
  kPercentile,  // without the share of outliers at either end
  kEntropy,     // clipped where the distribution is kept best
};
std::optional<RangeMethod> RangeMethodFromName(std::string_view name);
std::string_view RangeMethodName(RangeMethod method);

// `percentile` of the values lie within, as many of the rest below as above. Percent.
ValueBounds PercentileRange(const QuantileCounter& counter, double percentile);

// The threshold on |x| for this many levels on its side of zero. Complexity: bins * levels.
float EntropyThreshold(const MagnitudeHistogram& histogram, int levels);

// The bounds, clipped to the threshold of the histogram: 128 levels where values stand on both
// sides of zero, 255 where they do not.
ValueBounds EntropyRange(const MagnitudeHistogram& histogram, const ValueBounds& bounds);

}  // namespace berth
