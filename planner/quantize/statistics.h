// What calibration remembers of the values that a tensor takes: their bounds, a histogram of their
// magnitudes, their quantiles. All in bounded memory, one pass, order of samples irrelevant.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace berth {

// Invariant: without values, least > most.
struct ValueBounds {
  float least = 1, most = -1;

  bool empty() const { return least > most; }
  void Widen(const ValueBounds& other);
  // The number of values that are not finite, which are left out.
  int64_t Add(absl::Span<const float> values);
};

// Counts |x| in kBins equal bins over [0, limit]; zeros, which every scale represents exactly, are
// left out. Values beyond the limit count in the last bin.
class MagnitudeHistogram {
 public:
  static constexpr int kBins = 2048;
  explicit MagnitudeHistogram(float limit) : limit_(limit), counts_(kBins) {}

  void Add(absl::Span<const float> values);
  float limit() const { return limit_; }
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  float limit_;
  std::vector<int64_t> counts_;
};

// Counts values by the leading bits of their floats (sign, exponent, five bits of the mantissa), so
// that outliers cost no resolution: a quantile is off by 3 % of itself at most.
class QuantileCounter {
 public:
  QuantileCounter();

  void Add(absl::Span<const float> values);
  int64_t count() const { return count_; }
  // The value below which a share of all values lies, interpolated within its bin; 0 when empty.
  float Quantile(double share) const;

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
};

}  // namespace berth
