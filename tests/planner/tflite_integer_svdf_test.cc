// SVDF of integers against TFLite's arithmetic written out: 32-bit sums, fixed-point factors.
#include "planner/passes/quantized_products.h"
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

constexpr int kBatch = 2, kInputs = 40, kFilters = 12, kMemory = 8, kRank = 2;
constexpr int kUnits = kFilters / kRank, kInputZero = -7, kOutputZero = 11;
constexpr float kInputScale = 0.04f, kFeatureScale = 0.006f, kStateScale = 0.0013f;
constexpr float kTimeScale = 0.00003f, kOutputScale = 0.05f;

// The sum times a factor of 31 bits, rounded to whole steps twice.
int64_t Scaled(int64_t sum, double factor) {
  int exponent = 0;
  const int64_t mantissa = std::llround(std::frexp(factor, &exponent) * 2147483648.0);
  const int64_t high = (sum * mantissa + (int64_t{1} << 30)) >> 31;
  const int64_t half = exponent < 0 ? int64_t{1} << (-exponent - 1) : 0;
  return (high + half - (high < 0 && half > 0 ? 1 : 0)) >> -exponent;
}

struct Layer {
  std::vector<int8_t> x, features;
  std::vector<int16_t> times, state;
  std::vector<int32_t> bias;

  explicit Layer(std::mt19937_64& random)
      : x(RandomIntegers<int8_t>(kBatch * kInputs, -128, 127, random)),
        features(RandomIntegers<int8_t>(kFilters * kInputs, -127, 127, random)),
        times(RandomIntegers<int16_t>(kFilters * kMemory, -32767, 32767, random)),
        state(RandomIntegers<int16_t>(kBatch * kFilters * kMemory, -20000, 20000, random)),
        bias(RandomIntegers<int32_t>(kUnits, -100000000, 100000000, random)) {}

  // Advances the state.
  std::vector<int64_t> Run() {
    std::vector<int64_t> sums(kBatch * kUnits);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = bias[i % kUnits];
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t f = 0; f < kFilters; ++f) {
        int16_t* row = &state[(b * kFilters + f) * kMemory];
        std::copy(row + 1, row + kMemory, row);
        int64_t sum = 0;
        for (size_t k = 0; k < kInputs; ++k) {
          sum += (x[b * kInputs + k] - kInputZero) * features[f * kInputs + k];
        }
        const double factor = double{kInputScale} * kFeatureScale / kStateScale;
        row[kMemory - 1] =
            static_cast<int16_t>(std::clamp<int64_t>(Scaled(sum, factor), -32768, 32767));
        for (size_t m = 0; m < kMemory; ++m) {
          sums[b * kUnits + f / kRank] += int64_t{row[m]} * times[f * kMemory + m];
        }
      }
    }
    for (int64_t& sum : sums) {
      sum = Scaled(sum, double{kStateScale} * kTimeScale / kOutputScale) + kOutputZero;
      sum = std::clamp<int64_t>(sum, -128, 127);
    }
    return sums;
  }

  std::string Bytes() const {
    TfliteWriter writer;
    const int in =
        writer.Value({"x", {kBatch, kInputs}, tfl::ElementType::INT8, {kInputScale}, {kInputZero}});
    const int w = writer.Constant<int8_t>(
        {"w", {kFilters, kInputs}, tfl::ElementType::INT8, {kFeatureScale}, {0}}, features);
    const int t = writer.Constant<int16_t>(
        {"t", {kFilters, kMemory}, tfl::ElementType::INT16, {kTimeScale}, {0}}, times);
    const int b = writer.Constant<int32_t>(
        {"b", {kUnits}, tfl::ElementType::INT32, {kStateScale * kTimeScale}, {0}}, bias);
    TestTensor memory{
        "state", {kBatch, kFilters * kMemory}, tfl::ElementType::INT16, {kStateScale}, {0}};
    memory.is_variable = true;
    const int past = writer.Value(memory);
    const int out = writer.Value(
        {"y", {kBatch, kUnits}, tfl::ElementType::INT8, {kOutputScale}, {kOutputZero}});
    writer.Op(Op::SVDF, {in, w, t, b, past}, {out},
              tfl::CreateSvdfOptions(writer.fbb(), kRank, tfl::Activation::NONE));
    return writer.Finish({in}, {out});
  }
};

// Integer products folded, as the machine runs it. Results a step apart are counted: TFLite rounds
// features twice, by a factor between 1/8 and 1/4 one in eight differs from rounding once.
TEST(TfliteIntegerSvdf, AgreesWithFixedPointArithmetic) {
  int features = 0, results = 0, feature_steps = 0, result_steps = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Layer layer(random);
    ImportOptions options;
    options.state_mode = StateMode::kExpose;
    auto graph = ImportBytes(layer.Bytes(), options);
    ASSERT_TRUE(graph.ok()) << graph.status();
    FoldOptions fold;
    fold.keep_quantized = true;
    ASSERT_TRUE(FoldConstants(*graph, EvaluateNode, fold).ok());
    ASSERT_TRUE(FoldQuantizedProducts(*graph).ok());
    EXPECT_EQ(std::count_if(graph->nodes.begin(), graph->nodes.end(),
                            [](const Node& node) { return node.attributes.Has("x_zero_point"); }),
              1);
    const Shape past{kBatch, kFilters * kMemory};
    const auto y =
        Interpret(*graph, {Tensor::FromValues<int8_t>(DType::kInt8, {kBatch, kInputs}, layer.x),
                           Tensor::FromValues<int16_t>(DType::kInt16, past, layer.state)});
    ASSERT_TRUE(y.ok()) << y.status();
    const std::vector<int64_t> expected = layer.Run();
    for (size_t i = 0; i < expected.size(); ++i, ++results) {
      const int64_t apart = std::abs((*y)[0].Values<int8_t>()[i] - expected[i]);
      ASSERT_LE(apart, 1) << i;
      result_steps += apart != 0 ? 1 : 0;
    }
    for (size_t i = 0; i < layer.state.size(); ++i, ++features) {
      const int apart = std::abs((*y)[1].Values<int16_t>()[i] - layer.state[i]);
      ASSERT_LE(apart, 1) << i;
      feature_steps += apart != 0 ? 1 : 0;
    }
  }
  EXPECT_LE(feature_steps * 6, features / kMemory);  // of those that are new
  EXPECT_LE(result_steps * 100, results);
}

}  // namespace
}  // namespace berth
