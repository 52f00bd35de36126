// Ranges from observed values: bounds, quantiles, entropy thresholds, and the scales made of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "planner/quantize/ranges.h"
#include "planner/quantize/scales.h"

namespace berth {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint64_t kSeed = 20240611;

std::vector<float> Normal(size_t count, uint64_t seed = kSeed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// A normal distribution with one value in 20000 far away.
std::vector<float> WithOutliers(float outlier) {
  std::vector<float> values = Normal(200000);
  for (size_t i = 0; i < 10; ++i) values[i * 20000] = i % 2 == 0 ? outlier : -outlier;
  return values;
}

MagnitudeHistogram HistogramOf(const std::vector<float>& values) {
  ValueBounds bounds;
  bounds.Add(values);
  MagnitudeHistogram histogram(std::max(std::abs(bounds.least), std::abs(bounds.most)));
  histogram.Add(values);
  return histogram;
}

TEST(ValueBounds, LeaveOutWhatIsNotFinite) {
  ValueBounds bounds;
  EXPECT_TRUE(bounds.empty());
  const std::vector<float> values = {1, -kInfinity, -3, std::nanf(""), 2};
  EXPECT_EQ(bounds.Add(values), 2);
  EXPECT_EQ(bounds.least, -3);
  EXPECT_EQ(bounds.most, 2);
  bounds.Widen({});
  EXPECT_EQ(bounds.most, 2);
  bounds.Widen({0, 5});
  EXPECT_EQ(bounds.most, 5);
  EXPECT_EQ(bounds.least, -3);
}

TEST(MagnitudeHistogram, CountsMagnitudesWithoutZeros) {
  MagnitudeHistogram histogram(2048);
  histogram.Add({0, 0.5f, -0.5f, 1.5f, 2048, -2047.5f, 5000, std::nanf("")});
  EXPECT_EQ(histogram.counts()[0], 2);
  EXPECT_EQ(histogram.counts()[1], 1);
  EXPECT_EQ(histogram.counts()[2047], 3);
  int64_t total = 0;
  for (const int64_t count : histogram.counts()) total += count;
  EXPECT_EQ(total, 6);
}

TEST(MagnitudeHistogram, OfZerosHasNoLimit) {
  MagnitudeHistogram histogram(0);
  histogram.Add({0, 0});
  const ValueBounds range = EntropyRange(histogram, {0, 0});
  EXPECT_EQ(range.least, 0);
  EXPECT_EQ(range.most, 0);
}

TEST(QuantileCounter, FindsQuantilesOfBothSigns) {
  QuantileCounter counter;
  std::vector<float> values;
  for (int i = -1000; i <= 3000; ++i) values.push_back(static_cast<float>(i) / 1000);
  counter.Add(values);
  EXPECT_EQ(counter.count(), 4001);
  EXPECT_NEAR(counter.Quantile(0.0), -1.0, 0.04);
  EXPECT_NEAR(counter.Quantile(0.125), -0.5, 0.02);
  EXPECT_NEAR(counter.Quantile(0.5), 1.0, 0.04);
  EXPECT_NEAR(counter.Quantile(1.0), 3.0, 0.1);
}

TEST(PercentileRange, OutliersCostNoResolution) {
  for (const float outlier : {100.0f, 1e4f, 1e30f}) {
    QuantileCounter counter;
    counter.Add(WithOutliers(outlier));
    // 0.05 % of a normal distribution lie beyond 3.29 on each side.
    const ValueBounds range = PercentileRange(counter, 99.9);
    EXPECT_NEAR(range.least, -3.29, 0.2) << outlier;
    EXPECT_NEAR(range.most, 3.29, 0.2) << outlier;
  }
}

TEST(PercentileRange, OfEverythingIsMinMax) {
  QuantileCounter counter;
  counter.Add({-8, 0, 4});
  const ValueBounds range = PercentileRange(counter, 100);
  EXPECT_NEAR(range.least, -8, 0.25);
  EXPECT_NEAR(range.most, 4, 0.125);
  EXPECT_TRUE(PercentileRange(QuantileCounter(), 99).empty());
}

// The talk's pseudo-code word by word, with levels as runs of bins.
double NaiveDivergence(const std::vector<int64_t>& counts, size_t kept, size_t levels) {
  std::vector<double> p(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(kept));
  for (size_t i = kept; i < counts.size(); ++i) p.back() += static_cast<double>(counts[i]);
  std::vector<double> q(kept);
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double sum = 0, filled = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += static_cast<double>(counts[i]);
      filled += p[i] > 0;
    }
    for (size_t i = begin; i < end; ++i) q[i] = p[i] > 0 ? sum / filled : 0;
  }
  double p_sum = 0, q_sum = 0, divergence = 0;
  for (size_t i = 0; i < kept; ++i) {
    p_sum += p[i];
    q_sum += q[i];
  }
  for (size_t i = 0; i < kept; ++i) {
    if (p[i] > 0) divergence += p[i] / p_sum * std::log((p[i] / p_sum) / (q[i] / q_sum));
  }
  return divergence;
}

TEST(EntropyThreshold, IsThatOfTheNaiveSearch) {
  for (uint64_t seed = kSeed; seed < kSeed + 3; ++seed) {
    std::vector<float> values = Normal(3000, seed);
    values[0] = 4 + static_cast<float>(seed % 6) * 7;
    const MagnitudeHistogram histogram = HistogramOf(values);
    for (const int levels : {16, 128}) {
      const double bin = histogram.limit() / double{MagnitudeHistogram::kBins};
      const auto found =
          static_cast<size_t>(std::lround(EntropyThreshold(histogram, levels) / bin));
      double least = kInfinity;
      for (auto kept = static_cast<size_t>(levels); kept <= MagnitudeHistogram::kBins; ++kept) {
        const double d = NaiveDivergence(histogram.counts(), kept, static_cast<size_t>(levels));
        if (!std::isnan(d)) least = std::min(least, d);
      }
      const double d = NaiveDivergence(histogram.counts(), found, static_cast<size_t>(levels));
      EXPECT_NEAR(d, least, 1e-9) << "seed " << seed << ", levels " << levels;
    }
  }
}

TEST(EntropyRange, ClipsOutliersOfANormalDistribution) {
  const std::vector<float> values = WithOutliers(40);
  ValueBounds bounds;
  bounds.Add(values);
  const ValueBounds range = EntropyRange(HistogramOf(values), bounds);
  EXPECT_LT(range.most, 10);
  EXPECT_GT(range.most, 2.5);
  EXPECT_EQ(range.least, -range.most);
}

TEST(EntropyRange, KeepsAUniformDistributionWhole) {
  std::vector<float> values;
  for (int i = 1; i <= 1 << 18; ++i) values.push_back(static_cast<float>(i) / (1 << 18));
  const ValueBounds range = EntropyRange(HistogramOf(values), {values.front(), values.back()});
  EXPECT_GT(range.most, 0.97f);
  EXPECT_EQ(range.least, values.front());
}

TEST(ScaleOf, RepresentsZeroAndCoversTheBounds) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<float> uniform(-10, 10);
  for (int round = 0; round < 200; ++round) {
    const float a = uniform(random), b = uniform(random);
    const ValueBounds bounds{std::min(a, b), std::max(a, b)};
    for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
      const TensorQuantization by = ScaleOf(bounds, dtype);
      const IntegerRange range = RangeOfDType(dtype);
      ASSERT_GE(by.zero_point, range.least);
      ASSERT_LE(by.zero_point, range.most);
      const double least = double{by.scale} * (range.least - by.zero_point);
      const double most = double{by.scale} * (range.most - by.zero_point);
      EXPECT_LE(least, bounds.least + by.scale) << a << " " << b;
      EXPECT_GE(most, bounds.most - by.scale) << a << " " << b;
    }
  }
}

TEST(ScaleOf, SpecialRanges) {
  EXPECT_EQ(ScaleOf({0, 255}, DType::kInt8), (TensorQuantization{1.0f, -128}));
  EXPECT_EQ(ScaleOf({0, 255}, DType::kUInt8), (TensorQuantization{1.0f, 0}));
  EXPECT_EQ(ScaleOf({2, 255}, DType::kUInt8), (TensorQuantization{1.0f, 0}));
  EXPECT_EQ(ScaleOf({0, 0}, DType::kInt8), (TensorQuantization{1.0f, 0}));
  EXPECT_EQ(ScaleOf({}, DType::kInt8), (TensorQuantization{1.0f, 0}));
}

Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, std::move(shape), values);
}

TEST(QuantizeWeights, TakesAScaleForEachChannel) {
  const Tensor weights = Floats(Shape{2, 3}, {1, -0.5f, 0.25f, 100, 50, -100});
  const QuantizedWeights rows = QuantizeWeights(weights, 0, {}, 1);
  ASSERT_EQ(rows.scales.size(), 2u);
  const absl::Span<const int8_t> stored = rows.stored.Values<int8_t>();
  EXPECT_EQ(std::vector<int8_t>(stored.begin(), stored.end()),
            (std::vector<int8_t>{127, -64, 32, 127, 64, -127}));
  const QuantizedWeights columns = QuantizeWeights(weights, 1, {}, 1);
  EXPECT_EQ(columns.scales.size(), 3u);
  const QuantizedWeights whole = QuantizeWeights(weights, -1, {}, 1);
  EXPECT_EQ(whole.scales.size(), 1u);
  EXPECT_LT(whole.sqnr_db, rows.sqnr_db);
}

TEST(QuantizeWeights, WidensTheScaleForALargeBias) {
  const Tensor weights = Floats(Shape{3, 1}, {1e-9f, 0, 1});
  const std::vector<float> bias = {1000, -3, 0.5f};
  const float x_scale = 0.01f;
  const QuantizedWeights quantized = QuantizeWeights(weights, 0, bias, x_scale);
  const Tensor steps = QuantizeBias(bias, quantized.scales, x_scale);
  for (size_t c = 0; c < bias.size(); ++c) {
    const double step = double{x_scale} * double{quantized.scales[c]};
    EXPECT_LE(std::abs(steps.Values<int32_t>()[c]), (1 << 29) + 64) << c;
    EXPECT_NEAR(steps.Values<int32_t>()[c] * step, bias[c], step / 2) << c;
  }
}

}  // namespace
}  // namespace berth
