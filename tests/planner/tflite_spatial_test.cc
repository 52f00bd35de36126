// Windows over images, against loops written as TFLite defines them.
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

struct ConvCase {
  int height = 7, width = 6, channels = 4, kernel_h = 3, kernel_w = 2, outputs = 6;
  int stride = 1, dilation = 1, multiplier = 0;  // > 0: depthwise
  tfl::Padding padding = tfl::Padding::SAME;
};

struct Axis {
  int output = 0, before = 0;
};
Axis Place(int input, int kernel, int stride, int dilation, tfl::Padding padding) {
  const int reach = (kernel - 1) * dilation + 1;
  if (padding == tfl::Padding::VALID) return {(input - reach) / stride + 1, 0};
  const int output = (input + stride - 1) / stride;
  return {output, std::max(0, (output - 1) * stride + reach - input) / 2};
}

std::vector<float> NaiveConv(const ConvCase& c, const std::vector<float>& x,
                             const std::vector<float>& w, const std::vector<float>& bias,
                             Shape& shape) {
  const Axis rows = Place(c.height, c.kernel_h, c.stride, c.dilation, c.padding);
  const Axis columns = Place(c.width, c.kernel_w, c.stride, c.dilation, c.padding);
  const int outputs = c.multiplier > 0 ? c.channels * c.multiplier : c.outputs;
  shape = Shape{1, rows.output, columns.output, outputs};
  std::vector<float> y;
  for (int oy = 0; oy < rows.output; ++oy) {
    for (int ox = 0; ox < columns.output; ++ox) {
      for (int o = 0; o < outputs; ++o) {
        float sum = bias[static_cast<size_t>(o)];
        for (int ky = 0; ky < c.kernel_h; ++ky) {
          for (int kx = 0; kx < c.kernel_w; ++kx) {
            const int iy = oy * c.stride - rows.before + ky * c.dilation;
            const int ix = ox * c.stride - columns.before + kx * c.dilation;
            if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width) continue;
            const int at = (iy * c.width + ix) * c.channels;
            const int tap = ky * c.kernel_w + kx;
            if (c.multiplier > 0) {
              sum += x[static_cast<size_t>(at + o / c.multiplier)] *
                     w[static_cast<size_t>(tap * outputs + o)];
              continue;
            }
            for (int i = 0; i < c.channels; ++i) {
              const int weight = (o * c.kernel_h * c.kernel_w + tap) * c.channels + i;
              sum += x[static_cast<size_t>(at + i)] * w[static_cast<size_t>(weight)];
            }
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

void CheckConv(const ConvCase& c, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const int outputs = c.multiplier > 0 ? c.channels * c.multiplier : c.outputs;
  const auto count =
      static_cast<size_t>(c.kernel_h * c.kernel_w * outputs * (c.multiplier > 0 ? 1 : c.channels));
  const auto x = RandomFloats(static_cast<size_t>(c.height * c.width * c.channels), random);
  const auto w = RandomFloats(count, random);
  const auto bias = RandomFloats(static_cast<size_t>(outputs), random);
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, c.height, c.width, c.channels}});
  const int out = writer.Value({"y", {1, 1, 1, 1}});  // stale on purpose
  const int offsets = writer.Floats({outputs}, bias);
  if (c.multiplier > 0) {
    const int weights = writer.Floats({1, c.kernel_h, c.kernel_w, outputs}, w);
    writer.Op(
        Op::DEPTHWISE_CONV_2D, {in, weights, offsets}, {out},
        tfl::CreateDepthwiseConv2DOptions(writer.fbb(), c.padding, c.stride, c.stride, c.multiplier,
                                          tfl::Activation::NONE, c.dilation, c.dilation));
  } else {
    const int weights = writer.Floats({outputs, c.kernel_h, c.kernel_w, c.channels}, w);
    writer.Op(Op::CONV_2D, {in, weights, offsets}, {out},
              tfl::CreateConv2DOptions(writer.fbb(), c.padding, c.stride, c.stride,
                                       tfl::Activation::NONE, c.dilation, c.dilation));
  }
  const auto y =
      RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, c.height, c.width, c.channels}, x)});
  ASSERT_EQ(y.size(), 1u);
  Shape shape;
  const std::vector<float> expected = NaiveConv(c, x, w, bias, shape);
  ExpectNear(y[0], shape, expected);
}

TEST(TfliteSpatial, ConvolutionsPadAsTheFormatSays) {
  CheckConv({}, 1);
  CheckConv({.stride = 2}, 2);
  CheckConv({.stride = 2, .padding = tfl::Padding::VALID}, 3);
  CheckConv({.dilation = 2}, 4);
  CheckConv({.height = 8, .kernel_h = 1, .kernel_w = 1, .stride = 3}, 5);
}

TEST(TfliteSpatial, DepthwiseConvolutionsWithMultipliers) {
  CheckConv({.stride = 2, .multiplier = 1}, 6);
  CheckConv({.channels = 3, .dilation = 2, .multiplier = 2}, 7);
  CheckConv({.channels = 1, .multiplier = 8, .padding = tfl::Padding::VALID}, 8);
}

TEST(TfliteSpatial, FusedActivationsCutOff) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 1, 3, 1}});
  const int out = writer.Value({"y", {1, 1, 3, 1}});
  const int weights = writer.Floats({1, 1, 1, 1}, {4});
  writer.Op(
      Op::CONV_2D, {in, weights}, {out},
      tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::SAME, 1, 1, tfl::Activation::RELU6));
  const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, 1, 3, 1}, {-1, 1, 2})});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 1, 3, 1}, {0, 4, 6});
}

// The zeros of a PAD before a convolution become its pads.
TEST(TfliteSpatial, PadBeforeAConvolutionVanishes) {
  std::mt19937_64 random(9);
  const auto x = RandomFloats(5 * 5 * 2, random), w = RandomFloats(3 * 3 * 2, random);
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 5, 5, 2}});
  const int margins =
      writer.Constant<int32_t>({"p", {4, 2}, tfl::ElementType::INT32}, {0, 0, 1, 0, 0, 2, 0, 0});
  const int padded = writer.Value({"padded", {1, 6, 7, 2}});
  const int weights = writer.Floats({1, 3, 3, 2}, w);
  const int out = writer.Value({"y", {1, 4, 5, 1}});
  writer.Op(Op::PAD, {in, margins}, {padded});
  writer.Op(Op::CONV_2D, {padded, weights}, {out},
            tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::VALID, 1, 1));
  const std::string bytes = writer.Finish({in}, {out});
  auto graph = ImportBytes(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Node& node : graph->nodes) {
    if (node.kind != OpKind::kConv) continue;
    EXPECT_EQ(node.attributes.Ints("pads"), (std::vector<int64_t>{1, 0, 0, 2}));
  }
  std::vector<float> expected;
  for (int oy = 0; oy < 4; ++oy) {
    for (int ox = 0; ox < 5; ++ox) {
      float sum = 0;
      for (int ky = 0; ky < 3; ++ky) {
        for (int kx = 0; kx < 3; ++kx) {
          const int iy = oy + ky - 1, ix = ox + kx;
          if (iy < 0 || iy >= 5 || ix >= 5) continue;
          for (int i = 0; i < 2; ++i) {
            sum += x[static_cast<size_t>((iy * 5 + ix) * 2 + i)] *
                   w[static_cast<size_t>((ky * 3 + kx) * 2 + i)];
          }
        }
      }
      expected.push_back(sum);
    }
  }
  const auto y = RunBytes(bytes, {FloatTensor({1, 5, 5, 2}, x)});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 4, 5, 1}, expected);
}

Tensor RunPool(Op op, const std::vector<float>& x, int extent, int filter, int stride) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, extent, extent, 1}});
  const int out = writer.Value({"y", {1, 1, 1, 1}});
  writer.Op(
      op, {in}, {out},
      tfl::CreatePool2DOptions(writer.fbb(), tfl::Padding::SAME, stride, stride, filter, filter));
  const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, extent, extent, 1}, x)});
  return y.empty() ? Tensor() : y[0];
}

TEST(TfliteSpatial, PoolsLeaveThePaddingOut) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ExpectNear(RunPool(Op::AVERAGE_POOL_2D, x, 3, 2, 2), {1, 2, 2, 1}, {3, 4.5f, 7.5f, 9});
  ExpectNear(RunPool(Op::MAX_POOL_2D, x, 3, 2, 2), {1, 2, 2, 1}, {5, 6, 8, 9});
  ExpectNear(RunPool(Op::MAX_POOL_2D, {-1, -2, -3, -4}, 2, 3, 1), {1, 2, 2, 1}, {-1, -1, -1, -1});
}

// Scatters every input over its window; rows that no window reaches keep the bias.
std::vector<float> NaiveTransposed(const std::vector<float>& x, const std::vector<float>& w,
                                   int extent, int kernel, int stride, int output, int before) {
  std::vector<float> y(static_cast<size_t>(output * output), 0.5f);
  for (int i = 0; i < extent * extent; ++i) {
    for (int k = 0; k < kernel * kernel; ++k) {
      const int oy = i / extent * stride + k / kernel - before;
      const int ox = i % extent * stride + k % kernel - before;
      if (oy < 0 || oy >= output || ox < 0 || ox >= output) continue;
      y[static_cast<size_t>(oy * output + ox)] +=
          x[static_cast<size_t>(i)] * w[static_cast<size_t>(k)];
    }
  }
  return y;
}

TEST(TfliteSpatial, TransposedConvolutions) {
  std::mt19937_64 random(10);
  const auto x = RandomFloats(9, random), w = RandomFloats(9, random);
  struct Case {
    tfl::Padding padding;
    int stride, output, before;
  };
  for (const Case& c : {Case{tfl::Padding::SAME, 2, 6, 0}, Case{tfl::Padding::VALID, 2, 7, 0},
                        Case{tfl::Padding::SAME, 1, 3, 1}, Case{tfl::Padding::VALID, 2, 8, 0}}) {
    TfliteWriter writer;
    const int in = writer.Value({"x", {1, 3, 3, 1}});
    const int shape = writer.Ints({1, c.output, c.output, 1});
    const int weights = writer.Floats({1, 3, 3, 1}, w);
    const int bias = writer.Floats({1}, {0.5f});
    const int out = writer.Value({"y", {1, c.output, c.output, 1}});
    writer.Op(Op::TRANSPOSE_CONV, {shape, weights, in, bias}, {out},
              tfl::CreateTransposeConvOptions(writer.fbb(), c.padding, c.stride, c.stride));
    const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, 3, 3, 1}, x)});
    ASSERT_EQ(y.size(), 1u);
    ExpectNear(y[0], {1, c.output, c.output, 1},
               NaiveTransposed(x, w, 3, 3, c.stride, c.output, c.before));
  }
}

TEST(TfliteSpatial, CustomTransposedConvolutionWithBias) {
  std::mt19937_64 random(11);
  const auto x = RandomFloats(9, random), w = RandomFloats(4, random);
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 3, 3, 1}});
  const int weights = writer.Floats({1, 2, 2, 1}, w);
  const int bias = writer.Floats({1}, {0.5f});
  const int out = writer.Value({"y", {1, 6, 6, 1}});
  writer.Custom("Convolution2DTransposeBias", {in, weights, bias}, {out},
                {1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0});
  const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, 3, 3, 1}, x)});
  ASSERT_EQ(y.size(), 1u);
  ExpectNear(y[0], {1, 6, 6, 1}, NaiveTransposed(x, w, 3, 2, 2, 6, 0));
}

TEST(TfliteSpatial, ResizesByEveryRuleOfCoordinates) {
  struct Case {
    bool bilinear, corners, half_pixel;
    std::vector<float> expected;  // of {0, 10, 20} to five columns
  };
  const std::vector<Case> cases = {
      {true, false, false, {0, 6, 12, 18, 20}},  {true, true, false, {0, 5, 10, 15, 20}},
      {true, false, true, {0, 4, 10, 16, 20}},   {false, false, false, {0, 0, 10, 10, 20}},
      {false, true, false, {0, 10, 10, 20, 20}}, {false, false, true, {0, 0, 10, 20, 20}},
  };
  for (const Case& c : cases) {
    TfliteWriter writer;
    const int in = writer.Value({"x", {1, 1, 3, 1}});
    const int size = writer.Ints({1, 5});
    const int out = writer.Value({"y", {1, 1, 5, 1}});
    if (c.bilinear) {
      writer.Op(Op::RESIZE_BILINEAR, {in, size}, {out},
                tfl::CreateResizeBilinearOptions(writer.fbb(), c.corners, c.half_pixel));
    } else {
      writer.Op(Op::RESIZE_NEAREST_NEIGHBOR, {in, size}, {out},
                tfl::CreateResizeNearestNeighborOptions(writer.fbb(), c.corners, c.half_pixel));
    }
    const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({1, 1, 3, 1}, {0, 10, 20})});
    ASSERT_EQ(y.size(), 1u);
    ExpectNear(y[0], {1, 1, 5, 1}, c.expected);
  }
}

}  // namespace
}  // namespace berth
