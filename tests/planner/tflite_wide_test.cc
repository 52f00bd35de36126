// Operators on 16-bit activations and 8-bit weights (int16x8), against TFLite's integer arithmetic
// written out: 64-bit sums, a multiplier of 15 bits, halves up.
#include "planner/passes/quantized_products.h"
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

TestTensor Int16(std::string name, std::vector<int32_t> shape, float scale) {
  return {std::move(name), std::move(shape), tfl::ElementType::INT16, {scale}, {0}};
}
TestTensor Int64(std::string name, int32_t count) {
  return {std::move(name), {count}, tfl::ElementType::INT64, {1.0f}, {0}};
}

// round(sum * multiplier / 2^shift), of the multiplier of 15 bits that is nearest to the factor.
int64_t Scaled(int64_t sum, double factor) {
  int exponent = 0;
  const int64_t q31 = std::llround(std::frexp(factor, &exponent) * 2147483648.0);
  const int64_t multiplier = q31 < 0x7FFF0000 ? (q31 + (1 << 15)) >> 16 : 0x7FFF;
  const int shift = 15 - exponent;
  return static_cast<int64_t>(
      (static_cast<__int128>(sum) * multiplier + (static_cast<__int128>(1) << (shift - 1))) >>
      shift);
}
int64_t Stored(int64_t value, int64_t least = -32768) {
  return std::clamp<int64_t>(value, least, 32767);
}

// As the machine computes: quantized products folded.
std::vector<Tensor> RunFolded(const std::string& bytes, const std::vector<Tensor>& inputs,
                              bool* folded = nullptr) {
  absl::StatusOr<Graph> graph = ImportBytes(bytes);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  FoldOptions options;
  options.keep_quantized = true;
  EXPECT_TRUE(FoldConstants(*graph, EvaluateNode, options).ok());
  EXPECT_TRUE(FoldQuantizedProducts(*graph).ok());
  if (folded != nullptr) {
    *folded = std::none_of(graph->nodes.begin(), graph->nodes.end(),
                           [](const Node& node) { return node.kind == OpKind::kQuantizeLinear; });
  }
  auto outputs = Interpret(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << DumpGraph(*graph);
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>{};
}

Tensor Int16Tensor(const Shape& shape, const std::vector<int16_t>& values) {
  return Tensor::FromValues<int16_t>(DType::kInt16, shape, values);
}

struct ConvCase {
  int size = 9, inputs = 5, outputs = 4, kernel = 3;
  bool depthwise = false;
  tfl::Activation activation = tfl::Activation::NONE;
  float output_scale = 0.002f;
};

void ExpectConvolution(const ConvCase& t, uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const int outputs = t.depthwise ? t.inputs : t.outputs;
  const int inner = t.depthwise ? 1 : t.inputs;
  const auto count = [](int a, int b, int c) { return static_cast<size_t>(a * b * c); };
  const auto x = RandomIntegers<int16_t>(count(t.size, t.size, t.inputs), -32768, 32767, random);
  const auto w =
      RandomIntegers<int8_t>(count(t.kernel, t.kernel, outputs * inner), -127, 127, random);
  auto bias = RandomIntegers<int64_t>(static_cast<size_t>(outputs), -5000000, 5000000, random);
  std::vector<float> scales;
  for (int c = 0; c < outputs; ++c) {
    scales.push_back(0.01f + 0.003f * static_cast<float>(random() % 100));
  }
  const float in_scale = 0.00021f;
  TfliteWriter writer;
  const int in = writer.Value(Int16("x", {1, t.size, t.size, t.inputs}, in_scale));
  const std::vector<int32_t> shape = t.depthwise
                                         ? std::vector<int32_t>{1, t.kernel, t.kernel, outputs}
                                         : std::vector<int32_t>{outputs, t.kernel, t.kernel, inner};
  const int weights =
      writer.Constant<int8_t>({"w", shape, tfl::ElementType::INT8, scales,
                               std::vector<int64_t>(scales.size(), 0), t.depthwise ? 3 : 0},
                              w);
  const int b = writer.Constant<int64_t>(Int64("b", outputs), bias);
  const int side = t.size - t.kernel + 1;
  const int out = writer.Value(Int16("y", {1, side, side, outputs}, t.output_scale));
  if (t.depthwise) {
    writer.Op(Op::DEPTHWISE_CONV_2D, {in, weights, b}, {out},
              tfl::CreateDepthwiseConv2DOptions(writer.fbb(), tfl::Padding::VALID, 1, 1, 1,
                                                t.activation));
  } else {
    writer.Op(Op::CONV_2D, {in, weights, b}, {out},
              tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::VALID, 1, 1, t.activation));
  }
  bool folded = false;
  const auto y = RunFolded(writer.Finish({in}, {out}),
                           {Int16Tensor({1, t.size, t.size, t.inputs}, x)}, &folded);
  EXPECT_TRUE(folded);
  ASSERT_EQ(y.size(), 1u);
  const int64_t least = t.activation == tfl::Activation::RELU ? 0 : -32768;
  size_t at = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      for (int c = 0; c < outputs; ++c) {
        int64_t sum = bias[static_cast<size_t>(c)];
        for (int r = 0; r < t.kernel; ++r) {
          for (int s = 0; s < t.kernel; ++s) {
            for (int k = 0; k < inner; ++k) {
              const int channel = t.depthwise ? c : k;
              const int pixel = ((row + r) * t.size + column + s) * t.inputs + channel;
              const int weight = t.depthwise ? (r * t.kernel + s) * outputs + c
                                             : ((c * t.kernel + r) * t.kernel + s) * inner + k;
              sum += int64_t{x[static_cast<size_t>(pixel)]} * w[static_cast<size_t>(weight)];
            }
          }
        }
        const double factor =
            double{in_scale} * scales[static_cast<size_t>(c)] / double{t.output_scale};
        ASSERT_EQ(y[0].Values<int16_t>()[at], Stored(Scaled(sum, factor), least))
            << "element " << at << " sum " << sum;
        ++at;
      }
    }
  }
}

TEST(TfliteWide, Convolution) {
  for (uint64_t seed = 0; seed < 20; ++seed) ExpectConvolution({}, seed);
  ExpectConvolution({.kernel = 1, .activation = tfl::Activation::RELU}, 30);
  ExpectConvolution({.inputs = 40, .output_scale = 0.01f}, 31);
  ExpectConvolution({.output_scale = 0.00002f}, 32);  // most values are cut off
}

TEST(TfliteWide, DepthwiseConvolution) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ExpectConvolution({.inputs = 7, .depthwise = true, .output_scale = 0.0007f}, seed);
  }
  ExpectConvolution({.depthwise = true, .activation = tfl::Activation::RELU}, 30);
}

struct Layer {
  int inputs = 64, outputs = 9;
  std::vector<int64_t> bias;
  int8_t least_weight = -127;
};

// Results, and what TFLite's arithmetic gives.
struct LayerRun {
  std::vector<int64_t> actual, expected;
  bool folded = false;
};
LayerRun RunLayer(const Layer& layer, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto inputs = static_cast<size_t>(layer.inputs);
  const auto x = RandomIntegers<int16_t>(inputs, -32768, 32767, random);
  const auto w = RandomIntegers<int8_t>(inputs * static_cast<size_t>(layer.outputs),
                                        layer.least_weight, 127, random);
  const float in_scale = 0.0003f, scale = 0.02f, out_scale = 0.0131f;
  TfliteWriter writer;
  const int in = writer.Value(Int16("x", {1, layer.inputs}, in_scale));
  const int weights = writer.Constant<int8_t>(
      {"w", {layer.outputs, layer.inputs}, tfl::ElementType::INT8, {scale}, {0}}, w);
  const int b = writer.Constant<int64_t>(Int64("b", layer.outputs), layer.bias);
  const int out = writer.Value(Int16("y", {1, layer.outputs}, out_scale));
  writer.Op(Op::FULLY_CONNECTED, {in, weights, b}, {out},
            tfl::CreateFullyConnectedOptions(writer.fbb()));
  LayerRun run;
  const auto y =
      RunFolded(writer.Finish({in}, {out}), {Int16Tensor({1, layer.inputs}, x)}, &run.folded);
  EXPECT_EQ(y.size(), 1u);
  if (y.empty()) return run;
  for (size_t c = 0; c < layer.bias.size(); ++c) {
    int64_t sum = layer.bias[c];
    for (size_t k = 0; k < inputs; ++k) sum += int64_t{x[k]} * w[c * inputs + k];
    run.actual.push_back(y[0].Values<int16_t>()[c]);
    run.expected.push_back(Stored(Scaled(sum, double{in_scale * scale} / double{out_scale})));
  }
  return run;
}

TEST(TfliteWide, FullyConnected) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const LayerRun run =
        RunLayer({.bias = RandomIntegers<int64_t>(9, -1000000000, 1000000000, random)}, seed);
    EXPECT_TRUE(run.folded);
    EXPECT_EQ(run.actual, run.expected);
  }
}

// Sums, or a bias, that 32 bits cannot be proved to hold are left to float arithmetic.
TEST(TfliteWide, BeyondThirtyTwoBitsWithinOneStep) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const int64_t large = int64_t{1} << 35;
    const LayerRun deep = RunLayer({.inputs = 3000, .bias = std::vector<int64_t>(9, 12345)}, seed);
    const LayerRun biased =
        RunLayer({.bias = {large, -large, 0, 1, -1, large / 8, 2147483648, -2147483649, 5}}, seed);
    for (const LayerRun& run : {deep, biased}) {
      EXPECT_FALSE(run.folded);
      for (size_t i = 0; i < run.actual.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(run.actual[i]), static_cast<double>(run.expected[i]), 1);
      }
    }
  }
}

// Results of an operator on two tensors, and what real arithmetic gives.
void ExpectPairs(Op code, double (*combine)(double, double)) {
  std::mt19937_64 random(static_cast<uint64_t>(code));
  const int count = 2000;
  const auto a = RandomIntegers<int16_t>(count, -32768, 32767, random);
  const auto b = RandomIntegers<int16_t>(count, -32768, 32767, random);
  const float scale_a = 0.0002f, scale_b = 0.00013f, scale = 0.00031f;
  TfliteWriter writer;
  const int x = writer.Value(Int16("a", {count}, scale_a));
  const int y = writer.Value(Int16("b", {count}, scale_b));
  const int out = writer.Value(Int16("y", {count}, scale));
  writer.Op(code, {x, y}, {out});
  const auto results =
      RunBytes(writer.Finish({x, y}, {out}), {Int16Tensor({count}, a), Int16Tensor({count}, b)});
  ASSERT_EQ(results.size(), 1u);
  int differing = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double real = combine(a[i] * double{scale_a}, b[i] * double{scale_b}) / double{scale};
    const auto expected = static_cast<int>(std::clamp(std::nearbyint(real), -32768.0, 32767.0));
    const int actual = results[0].Values<int16_t>()[i];
    ASSERT_NEAR(actual, expected, 1) << i;
    differing += actual != expected ? 1 : 0;
  }
  EXPECT_LE(differing, count / 200);  // halves, which float32 moves
}

TEST(TfliteWide, PairsOfTensors) {
  ExpectPairs(Op::ADD, [](double a, double b) { return a + b; });
  ExpectPairs(Op::SUB, [](double a, double b) { return a - b; });
  ExpectPairs(Op::MUL, [](double a, double b) { return a * b; });
  ExpectPairs(Op::MAXIMUM, [](double a, double b) { return std::max(a, b); });
  ExpectPairs(Op::MINIMUM, [](double a, double b) { return std::min(a, b); });
}

TEST(TfliteWide, Pools) {
  std::mt19937_64 random(5);
  const auto x = RandomIntegers<int16_t>(64 * 3, -32768, 32767, random);
  TfliteWriter writer;
  const int in = writer.Value(Int16("x", {1, 8, 8, 3}, 0.01f));
  const int mean = writer.Value(Int16("mean", {1, 4, 4, 3}, 0.01f));
  const int most = writer.Value(Int16("most", {1, 4, 4, 3}, 0.01f));
  const auto options = tfl::CreatePool2DOptions(writer.fbb(), tfl::Padding::VALID, 2, 2, 2, 2);
  writer.Op(Op::AVERAGE_POOL_2D, {in}, {mean}, options);
  writer.Op(Op::MAX_POOL_2D, {in}, {most},
            tfl::CreatePool2DOptions(writer.fbb(), tfl::Padding::VALID, 2, 2, 2, 2));
  const auto y = RunBytes(writer.Finish({in}, {mean, most}), {Int16Tensor({1, 8, 8, 3}, x)});
  ASSERT_EQ(y.size(), 2u);
  for (size_t i = 0; i < 48; ++i) {
    const size_t row = i / 12, column = i / 3 % 4, channel = i % 3;
    int sum = 0, largest = -32768;
    for (size_t tap = 0; tap < 4; ++tap) {
      const int value = x[((2 * row + tap / 2) * 8 + 2 * column + tap % 2) * 3 + channel];
      sum += value;
      largest = std::max(largest, value);
    }
    EXPECT_EQ(y[1].Values<int16_t>()[i], largest);
    // TFLite rounds halves away from zero, Berth to even.
    const int rounded = (std::abs(sum) + 2) / 4 * (sum < 0 ? -1 : 1);
    EXPECT_NEAR(y[0].Values<int16_t>()[i], rounded, sum % 4 == 0 || sum % 2 != 0 ? 0 : 1) << sum;
  }
}

// TFLite's tables of 16 bits are linear between points 1/24 apart: the difference is theirs.
TEST(TfliteWide, CurvesWithinTheErrorOfTheTables) {
  std::vector<int16_t> x;
  for (int value = -32768; value <= 32767; value += 7) x.push_back(static_cast<int16_t>(value));
  const auto count = static_cast<int32_t>(x.size());
  TfliteWriter writer;
  const int in = writer.Value(Int16("x", {count}, 1.0f / 4096));
  const int sigmoid = writer.Value(Int16("s", {count}, 1.0f / 32768));
  const int tanh = writer.Value(Int16("t", {count}, 1.0f / 32768));
  writer.Op(Op::LOGISTIC, {in}, {sigmoid});
  writer.Op(Op::TANH, {in}, {tanh});
  const auto y = RunBytes(writer.Finish({in}, {sigmoid, tanh}), {Int16Tensor({count}, x)});
  ASSERT_EQ(y.size(), 2u);
  const auto table = [](int i) {
    return std::min(65535.0, std::round(65536 / (1 + std::exp(-i / 24.0))));
  };
  for (size_t i = 0; i < x.size(); ++i) {
    const auto point = [&](double position) {  // of sigmoid, as a fraction of 65536
      const int at = std::min(254, static_cast<int>(position));
      return table(at) + (table(at + 1) - table(at)) * std::min(1.0, position - at);
    };
    const double position = std::abs(x[i]) * 24.0 / 4096;
    const double up = point(position) / 2, across = point(2 * position) - 32768;
    EXPECT_NEAR(y[0].Values<int16_t>()[i], x[i] < 0 ? 32768 - up : up, 1.6) << x[i];
    EXPECT_NEAR(y[1].Values<int16_t>()[i], x[i] < 0 ? -across : across, 2.6) << x[i];
  }
}

TEST(TfliteWide, Softmax) {
  std::mt19937_64 random(9);
  const auto x = RandomIntegers<int16_t>(40, -8000, 8000, random);
  TfliteWriter writer;
  const int in = writer.Value(Int16("x", {4, 10}, 0.001f));
  const int out = writer.Value(Int16("y", {4, 10}, 1.0f / 32768));
  writer.Op(Op::SOFTMAX, {in}, {out}, tfl::CreateSoftmaxOptions(writer.fbb(), 1.0f));
  const auto y = RunBytes(writer.Finish({in}, {out}), {Int16Tensor({4, 10}, x)});
  ASSERT_EQ(y.size(), 1u);
  for (size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 10; ++i) sum += std::exp(x[row * 10 + i] * 0.001);
    for (size_t i = 0; i < 10; ++i) {
      const double real = std::exp(x[row * 10 + i] * 0.001) / sum * 32768;
      EXPECT_NEAR(y[0].Values<int16_t>()[row * 10 + i], std::min(real, 32767.0), 0.52);
    }
  }
}

}  // namespace
}  // namespace berth
