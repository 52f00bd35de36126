// Quantized operators against arithmetic on what is stored.
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

TestTensor Int8(std::string name, std::vector<int32_t> shape, std::vector<float> scale,
                std::vector<int64_t> zero, int axis = 0) {
  return {std::move(name),  std::move(shape), tfl::ElementType::INT8,
          std::move(scale), std::move(zero),  axis};
}

std::vector<int8_t> RandomInt8(size_t count, std::mt19937_64& random) {
  std::vector<int8_t> values(count);
  for (int8_t& value : values) value = static_cast<int8_t>(random() % 256);
  return values;
}

// To the nearest step, ties to even, within [least, most].
int Requantized(double real, double scale, int zero, int least, int most) {
  return std::clamp(static_cast<int>(std::nearbyint(real / scale)) + zero, least, most);
}

// Scales by channel, a bias in int32 whose own scale says nothing, RELU6 within the result's range.
TEST(TfliteQuantized, PointwiseConvolution) {
  std::mt19937_64 random(1);
  const std::vector<int8_t> x = RandomInt8(12, random), w = RandomInt8(6, random);
  const std::vector<int32_t> bias = {100, -300};
  const std::vector<float> scales = {0.5f, 0.25f};
  TfliteWriter writer;
  const int in = writer.Value(Int8("x", {1, 2, 2, 3}, {0.125f}, {-3}));
  const int weights = writer.Constant<int8_t>(Int8("w", {2, 1, 1, 3}, scales, {0, 0}), w);
  TestTensor offsets{"b", {2}, tfl::ElementType::INT32, {99.0f}, {0}};
  const int b = writer.Constant<int32_t>(offsets, bias);
  const int out = writer.Value(Int8("y", {1, 2, 2, 2}, {0.0625f}, {-100}));
  writer.Op(
      Op::CONV_2D, {in, weights, b}, {out},
      tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::SAME, 1, 1, tfl::Activation::RELU6));
  const auto y = RunBytes(writer.Finish({in}, {out}),
                          {Tensor::FromValues<int8_t>(DType::kInt8, {1, 2, 2, 3}, x)});
  ASSERT_EQ(y.size(), 1u);
  ASSERT_EQ(y[0].type(), (TensorType{DType::kInt8, {1, 2, 2, 2}}));
  for (size_t i = 0; i < 8; ++i) {
    const size_t pixel = i / 2, channel = i % 2;
    int sum = bias[channel];
    for (size_t k = 0; k < 3; ++k) sum += (x[pixel * 3 + k] + 3) * w[channel * 3 + k];
    const double real = sum * 0.125 * scales[channel];
    // Zero is stored as -100, six as -100 + 96.
    EXPECT_EQ(y[0].Values<int8_t>()[i], Requantized(real, 0.0625, -100, -100, -4)) << i;
  }
}

TEST(TfliteQuantized, FullyConnectedOfBytes) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 2}, tfl::ElementType::UINT8, {0.5f}, {128}});
  const int weights = writer.Constant<uint8_t>(
      {"w", {2, 2}, tfl::ElementType::UINT8, {0.25f}, {10}}, {20, 0, 10, 255});
  const int out = writer.Value({"y", {1, 2}, tfl::ElementType::UINT8, {1.0f}, {7}});
  writer.Op(Op::FULLY_CONNECTED, {in, weights}, {out},
            tfl::CreateFullyConnectedOptions(writer.fbb()));
  const auto y = RunBytes(
      writer.Finish({in}, {out}),
      {Tensor::FromValues<uint8_t>(DType::kUInt8, {1, 2}, std::vector<uint8_t>{140, 126})});
  ASSERT_EQ(y.size(), 1u);
  // (12 * 10 + -2 * -10) / 8 = 17.5, to even 18; (12 * 0 + -2 * 245) / 8 = -61.25.
  EXPECT_EQ(y[0].Values<uint8_t>()[0], 25);
  EXPECT_EQ(y[0].Values<uint8_t>()[1], 0);
}

// Operands in other scales than the result's; a result that only moves keeps its bytes.
TEST(TfliteQuantized, ConcatenationRequantizesWhatDiffers) {
  TfliteWriter writer;
  const int a = writer.Value(Int8("a", {2}, {1.0f}, {0}));
  const int b = writer.Value(Int8("b", {2}, {0.5f}, {10}));
  const int out = writer.Value(Int8("y", {4}, {1.0f}, {0}));
  writer.Op(Op::CONCATENATION, {a, b}, {out}, tfl::CreateConcatenationOptions(writer.fbb(), 0));
  const std::string bytes = writer.Finish({a, b}, {out});
  const auto y = RunBytes(
      bytes, {Tensor::FromValues<int8_t>(DType::kInt8, {2}, std::vector<int8_t>{-128, 127}),
              Tensor::FromValues<int8_t>(DType::kInt8, {2}, std::vector<int8_t>{13, -10})});
  ASSERT_EQ(y.size(), 1u);
  const absl::Span<const int8_t> values = y[0].Values<int8_t>();
  EXPECT_EQ(std::vector<int>(values.begin(), values.end()),
            (std::vector<int>{-128, 127, 2 /* 1.5 */, -10}));
}

TEST(TfliteQuantized, PaddingIsTheStoredZero) {
  TfliteWriter writer;
  const int in = writer.Value(Int8("x", {1}, {1.0f}, {-7}));
  const int margins = writer.Constant<int32_t>({"p", {1, 2}, tfl::ElementType::INT32}, {1, 2});
  const int out = writer.Value(Int8("y", {4}, {1.0f}, {-7}));
  writer.Op(Op::PAD, {in, margins}, {out});
  const auto y = RunBytes(writer.Finish({in}, {out}),
                          {Tensor::FromValues<int8_t>(DType::kInt8, {1}, std::vector<int8_t>{5})});
  ASSERT_EQ(y.size(), 1u);
  const absl::Span<const int8_t> values = y[0].Values<int8_t>();
  EXPECT_EQ(std::vector<int>(values.begin(), values.end()), (std::vector<int>{-7, 5, -7, -7}));
}

TEST(TfliteQuantized, PoolsAndPositionsNeedNoScale) {
  TfliteWriter writer;
  const int in = writer.Value(Int8("x", {1, 2, 2, 1}, {0.1f}, {5}));
  const int pooled = writer.Value(Int8("pooled", {1, 1, 1, 1}, {0.1f}, {5}));
  const int axis = writer.Ints({1});
  const int most = writer.Value({"most", {1, 2, 1}, tfl::ElementType::INT64});
  writer.Op(Op::MAX_POOL_2D, {in}, {pooled},
            tfl::CreatePool2DOptions(writer.fbb(), tfl::Padding::VALID, 2, 2, 2, 2));
  writer.Op(Op::ARG_MAX, {in, axis}, {most},
            tfl::CreateArgMaxOptions(writer.fbb(), tfl::ElementType::INT64));
  const std::string bytes = writer.Finish({in}, {pooled, most});
  const auto graph = ImportBytes(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Node& node : graph->nodes) EXPECT_NE(node.kind, OpKind::kDequantizeLinear);
  const auto y =
      RunBytes(bytes, {Tensor::FromValues<int8_t>(DType::kInt8, {1, 2, 2, 1},
                                                  std::vector<int8_t>{-9, 3, -8, -128})});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0].Values<int8_t>()[0], 3);
  EXPECT_EQ(y[1].Values<int64_t>()[0], 1);
  EXPECT_EQ(y[1].Values<int64_t>()[1], 0);
}

TEST(TfliteQuantized, RealsInAndOut) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {3}});
  const int stored = writer.Value(Int8("q", {3}, {0.5f}, {1}));
  const int out = writer.Value({"y", {3}});
  writer.Op(Op::QUANTIZE, {in}, {stored});
  writer.Op(Op::DEQUANTIZE, {stored}, {out});
  const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({3}, {0.3f, -1.25f, 1000})});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {3}, {0.5f, -1.0f, 63});
}

// The sum times a fixed-point factor, rounded to 31 bits less and then by the rest of the shift.
int FixedPoint(int sum, double factor) {
  int exponent = 0;
  const int64_t mantissa = std::llround(std::frexp(factor, &exponent) * 2147483648.0);
  const int64_t high = (sum * mantissa + (int64_t{1} << 30)) >> 31;
  const int64_t half = int64_t{1} << (-exponent - 1);
  return static_cast<int>((high + half) >> -exponent);
}

struct InputScale {
  float scale = 1;
  int64_t zero = 0;
};

// A depthwise convolution of one tap whose result's shape is read at run time, over 1x1xPIXELSxC
// samples; its output has zero point -128 and a Relu.
std::vector<Tensor> RunShapedDepthwise(int pixels, const std::vector<int8_t>& x,
                                       const std::vector<int8_t>& w,
                                       const std::vector<int32_t>& bias,
                                       const std::vector<float>& scales, InputScale input,
                                       float output_scale) {
  const auto channels = static_cast<int>(w.size());
  TfliteWriter writer;
  const std::vector<int64_t> zeros(w.size(), 0);
  const int in = writer.Value(Int8("x", {1, 1, pixels, channels}, {input.scale}, {input.zero}));
  const int weights = writer.Constant<int8_t>(Int8("w", {1, 1, 1, channels}, scales, zeros, 3), w);
  const int b = writer.Constant<int32_t>({"b", {channels}, tfl::ElementType::INT32}, bias);
  const int conv = writer.Value(Int8("conv", {1, 1, pixels, channels}, {output_scale}, {-128}));
  const int shape = writer.Value({"shape", {4}, tfl::ElementType::INT32});
  const int out = writer.Value(Int8("y", {1, 1, pixels, channels}, {output_scale}, {-128}));
  writer.Op(Op::DEPTHWISE_CONV_2D, {in, weights, b}, {conv},
            tfl::CreateDepthwiseConv2DOptions(writer.fbb(), tfl::Padding::SAME, 1, 1, 1,
                                              tfl::Activation::RELU));
  writer.Op(Op::SHAPE, {conv}, {shape},
            tfl::CreateShapeOptions(writer.fbb(), tfl::ElementType::INT32));
  writer.Op(Op::RESHAPE, {conv, shape}, {out});
  return RunBytes(writer.Finish({in}, {out}),
                  {Tensor::FromValues<int8_t>(DType::kInt8, {1, 1, pixels, channels}, x)});
}

// A RESHAPE to a computed shape keeps XNNPACK away: depthwise convolutions round twice.
TEST(TfliteQuantized, DepthwiseOfModelsWithRunTimeShapesRoundsTwice) {
  std::mt19937_64 random(2);
  const int channels = 2, pixels = 4000;
  const std::vector<int8_t> x = RandomInt8(static_cast<size_t>(pixels * channels), random);
  const std::vector<int8_t> w = {100, 87};
  const std::vector<int32_t> bias = {1000, 5000};
  const std::vector<float> scales = {0.011f, 0.0173f};
  const std::vector<Tensor> y = RunShapedDepthwise(pixels, x, w, bias, scales, {0.7f, -128}, 0.9f);
  ASSERT_EQ(y.size(), 1u);
  int rounded_twice = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t channel = i % 2;
    const int sum = bias[channel] + (x[i] + 128) * w[channel];
    const double factor = double{0.7f} * scales[channel] / 0.9f;
    const int expected = std::clamp(FixedPoint(sum, factor) - 128, -128, 127);
    EXPECT_EQ(y[0].Values<int8_t>()[i], expected) << i;
    rounded_twice += expected != Requantized(sum * factor, 1, -128, -128, 127) ? 1 : 0;
  }
  EXPECT_GT(rounded_twice, 5);
}

// Every pair of an activation and a weight, by factors of 2^-1 to 2^-8 of every channel.
TEST(TfliteQuantized, EveryPairRoundedTwice) {
  const int channels = 254, pixels = 256;
  std::vector<int8_t> x, w;
  std::vector<float> scales;
  std::vector<int32_t> bias;
  for (int c = 0; c < channels; ++c) {
    w.push_back(static_cast<int8_t>(c < 127 ? c - 127 : c - 126));
    scales.push_back(std::ldexp(1.0f + static_cast<float>(c * 37 % 101) / 101.0f, -2 - c % 8));
    bias.push_back(c % 3 == 0 ? 0 : (c * 7919) % 20001 - 10000);
  }
  for (int pixel = 0; pixel < pixels; ++pixel) {
    for (int c = 0; c < channels; ++c) x.push_back(static_cast<int8_t>(pixel - 128));
  }
  const std::vector<Tensor> y = RunShapedDepthwise(pixels, x, w, bias, scales, {0.5f, 3}, 0.5f);
  ASSERT_EQ(y.size(), 1u);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    const int sum = bias[c] + (x[i] - 3) * w[c];
    const int expected = std::clamp(FixedPoint(sum, double{scales[c]}) - 128, -128, 127);
    ASSERT_EQ(y[0].Values<int8_t>()[i], expected) << sum << " * " << scales[c];
  }
}

}  // namespace
}  // namespace berth
