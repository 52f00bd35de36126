#include "planner/quantize/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth {
namespace {

constexpr int kTwoSidedLevels = 128, kOneSidedLevels = 255;

struct MethodName {
  RangeMethod method;
  std::string_view name;
};
constexpr MethodName kMethods[] = {{RangeMethod::kMinMax, "minmax"},
                                   {RangeMethod::kPercentile, "percentile"},
                                   {RangeMethod::kEntropy, "entropy"}};

double PLogP(double p) { return p > 0 ? p * std::log(p) : 0; }

// Divergence of the first `kept` bins, the rest clipped into the last of them, from themselves
// rounded to `levels` levels: the sum of p log(p / q) over the bins that are not empty, where q is
// what the bin's level holds, spread evenly over its bins that are not empty. With prefix sums of
// counts and of p log p a level costs one logarithm.
class Divergence {
 public:
  Divergence(const std::vector<int64_t>& counts, int levels)
      : counts_(counts),
        levels_(static_cast<size_t>(levels)),
        below_(counts.size() + 1),
        filled_(counts.size() + 1),
        p_log_p_(counts.size() + 1) {
    for (const int64_t count : counts) total_ += static_cast<double>(count);
    for (size_t i = 0; i < counts.size(); ++i) {
      below_[i + 1] = below_[i] + static_cast<double>(counts[i]);
      filled_[i + 1] = filled_[i] + (counts[i] > 0 ? 1 : 0);
      p_log_p_[i + 1] = p_log_p_[i] + PLogP(static_cast<double>(counts[i]) / total_);
    }
  }

  // Infinite where rounding leaves nothing of a bin that is not empty.
  double At(size_t kept) const {
    const double inside = below_[kept], outliers = total_ - inside;
    if (inside == 0) return std::numeric_limits<double>::infinity();
    const auto last = static_cast<double>(counts_[kept - 1]);
    double divergence = p_log_p_[kept - 1] + PLogP((last + outliers) / total_);
    for (size_t level = 0; level < levels_; ++level) {
      const size_t begin = level * kept / levels_, end = (level + 1) * kept / levels_;
      const double sum = below_[end] - below_[begin];
      const double clipped = end == kept ? outliers : 0;
      if (sum + clipped == 0) continue;
      if (sum == 0) return std::numeric_limits<double>::infinity();
      const double filled = filled_[end] - filled_[begin] + (clipped > 0 && last == 0 ? 1 : 0);
      divergence -= (sum + clipped) / total_ * std::log(sum / filled / inside);
    }
    return divergence;
  }

 private:
  const std::vector<int64_t>& counts_;
  const size_t levels_;
  double total_ = 0;
  std::vector<double> below_, filled_, p_log_p_;  // sums over the bins before
};

}  // namespace

std::optional<RangeMethod> RangeMethodFromName(std::string_view name) {
  for (const MethodName& entry : kMethods) {
    if (entry.name == name) return entry.method;
  }
  return std::nullopt;
}

std::string_view RangeMethodName(RangeMethod method) {
  return kMethods[static_cast<size_t>(method)].name;
}

ValueBounds PercentileRange(const QuantileCounter& counter, double percentile) {
  if (counter.count() == 0) return {};
  const double tail = (1.0 - percentile / 100.0) / 2.0;
  return {counter.Quantile(tail), counter.Quantile(1.0 - tail)};
}

float EntropyThreshold(const MagnitudeHistogram& histogram, int levels) {
  const Divergence divergence(histogram.counts(), levels);
  size_t best = MagnitudeHistogram::kBins;
  double least = std::numeric_limits<double>::infinity();
  for (auto kept = static_cast<size_t>(levels); kept <= MagnitudeHistogram::kBins; ++kept) {
    const double found = divergence.At(kept);
    if (found < least) {
      least = found;
      best = kept;
    }
  }
  return histogram.limit() * static_cast<float>(best) / float{MagnitudeHistogram::kBins};
}

ValueBounds EntropyRange(const MagnitudeHistogram& histogram, const ValueBounds& bounds) {
  if (bounds.empty() || !(histogram.limit() > 0)) return bounds;
  const bool two_sided = bounds.least < 0 && bounds.most > 0;
  const float threshold =
      EntropyThreshold(histogram, two_sided ? kTwoSidedLevels : kOneSidedLevels);
  return {std::max(bounds.least, -threshold), std::min(bounds.most, threshold)};
}

}  // namespace berth
