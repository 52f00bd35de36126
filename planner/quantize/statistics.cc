#include "planner/quantize/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace berth {
namespace {

constexpr int kLeadingBits = 14;
constexpr int kDroppedBits = 32 - kLeadingBits;
constexpr uint32_t kSignBit = 0x80000000u;

// Floats in the order of these numbers.
uint32_t OrderedBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
float FromOrderedBits(uint32_t ordered) {
  return std::bit_cast<float>((ordered & kSignBit) != 0 ? ordered & ~kSignBit : ~ordered);
}

}  // namespace

void ValueBounds::Widen(const ValueBounds& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

int64_t ValueBounds::Add(absl::Span<const float> values) {
  int64_t odd = 0;
  ValueBounds found;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++odd;
    } else if (found.empty()) {
      found = {value, value};
    } else {
      found.least = std::min(found.least, value);
      found.most = std::max(found.most, value);
    }
  }
  Widen(found);
  return odd;
}

void MagnitudeHistogram::Add(absl::Span<const float> values) {
  if (!(limit_ > 0)) return;
  const float bins_per_unit = static_cast<float>(kBins) / limit_;
  for (const float value : values) {
    if (value == 0 || !std::isfinite(value)) continue;
    const float position = std::min(std::abs(value) * bins_per_unit, float{kBins - 1});
    ++counts_[static_cast<size_t>(position)];
  }
}

QuantileCounter::QuantileCounter() : counts_(size_t{1} << kLeadingBits) {}

void QuantileCounter::Add(absl::Span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    ++counts_[OrderedBits(value) >> kDroppedBits];
    ++count_;
  }
}

float QuantileCounter::Quantile(double share) const {
  if (count_ == 0) return 0;
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
  double before = 0;
  for (size_t bin = 0; bin < counts_.size(); ++bin) {
    const auto count = static_cast<double>(counts_[bin]);
    if (count == 0 || before + count < rank) {
      before += count;
      continue;
    }
    // The last bits of a bin's first float are the ones nearest to zero or farthest from it.
    const uint32_t first = static_cast<uint32_t>(bin) << kDroppedBits;
    const double low = FromOrderedBits(first);
    const double high = FromOrderedBits(first | ((1u << kDroppedBits) - 1));
    return static_cast<float>(low + (high - low) * (rank - before) / count);
  }
  return 0;
}

}  // namespace berth
