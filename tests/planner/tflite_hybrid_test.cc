// Hybrid operators against TFLite's arithmetic: activations rounded to 8 bits, integer sums.
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

struct Rounded {
  std::vector<int> steps;  // less the zero point
  float step = 1;
};

// One scale for all of `x`, as XNNPACK chooses it.
Rounded Asymmetric(const std::vector<float>& x) {
  const float least = std::min(0.0f, *std::min_element(x.begin(), x.end()));
  const float most = std::max(0.0f, *std::max_element(x.begin(), x.end()));
  const float scale = least == most ? 1.0f : 255.0f / (most - least);
  const float low = least * scale, high = most * scale;
  const float exact = (-128 + low) + (127 + high) > 0 ? -128 - low : 127 - high;
  const auto zero = static_cast<int>(std::nearbyint(std::clamp(exact, -128.0f, 127.0f)));
  Rounded result;
  result.step = 1.0f / scale;
  for (const float value : x) {
    const int stored = static_cast<int>(std::nearbyint(value * scale)) + zero;
    result.steps.push_back(std::clamp(stored, -128, 127) - zero);
  }
  return result;
}
// As TFLite's own kernel.
Rounded Symmetric(const std::vector<float>& x) {
  float range = 0;
  for (const float value : x) range = std::max(range, std::abs(value));
  Rounded result;
  result.step = range == 0 ? 1.0f : range / 127.0f;
  for (const float value : x) {
    result.steps.push_back(range == 0 ? 0
                                      : static_cast<int>(std::nearbyint(value * (127.0f / range))));
  }
  return result;
}

std::vector<float> Reals(size_t count, std::mt19937_64& random, float least, float most) {
  std::uniform_real_distribution<float> any(least, most);
  std::vector<float> values(count);
  for (float& value : values) value = any(random);
  return values;
}
std::vector<int8_t> Weights(size_t count, std::mt19937_64& random) {
  std::vector<int8_t> values(count);
  for (int8_t& value : values) value = static_cast<int8_t>(random() % 255 - 127);
  return values;
}

// Rows of different ranges: of both signs, all positive, all negative, zeros.
void ExpectLayer(bool own_kernels, bool asymmetric) {
  SCOPED_TRACE(::testing::Message() << own_kernels << asymmetric);
  std::mt19937_64 random(7);
  const int inputs = 50, outputs = 6;
  std::vector<float> x;
  for (const auto& [least, most] :
       {std::pair{-3.0f, 5.0f}, {0.5f, 0.75f}, {-9.0f, -1.0f}, {0, 0}}) {
    const std::vector<float> row = Reals(inputs, random, least, most);
    x.insert(x.end(), row.begin(), row.end());
  }
  const std::vector<int8_t> w = Weights(inputs * outputs, random);
  const std::vector<float> bias = Reals(outputs, random, -1, 1);
  const float scale = 0.013f;
  TfliteWriter writer;
  const int in = writer.Value({"x", {4, inputs}});
  const int weights =
      writer.Constant<int8_t>({"w", {outputs, inputs}, tfl::ElementType::INT8, {scale}, {0}}, w);
  const int b = writer.Floats({outputs}, bias);
  const int product = writer.Value({"product", {4, outputs}});
  writer.Op(
      Op::FULLY_CONNECTED, {in, weights, b}, {product},
      tfl::CreateFullyConnectedOptions(writer.fbb(), tfl::Activation::NONE, 0, false, asymmetric));
  int out = product;
  if (own_kernels) {  // a RESHAPE to a computed shape
    const int shape = writer.Value({"shape", {2}, tfl::ElementType::INT32});
    out = writer.Value({"y", {4, outputs}});
    writer.Op(Op::SHAPE, {product}, {shape},
              tfl::CreateShapeOptions(writer.fbb(), tfl::ElementType::INT32));
    writer.Op(Op::RESHAPE, {product, shape}, {out});
  }
  const auto y = RunBytes(writer.Finish({in}, {out}), {FloatTensor({4, inputs}, x)});
  ASSERT_EQ(y.size(), 1u);
  for (size_t row = 0; row < 4; ++row) {
    const auto begin = x.begin() + static_cast<ptrdiff_t>(row) * inputs;
    const std::vector<float> values(begin, begin + inputs);
    const Rounded rounded = own_kernels && !asymmetric ? Symmetric(values) : Asymmetric(values);
    for (size_t c = 0; c < outputs; ++c) {
      int sum = 0;
      for (size_t k = 0; k < inputs; ++k) sum += rounded.steps[k] * w[c * inputs + k];
      const float expected = static_cast<float>(sum) * rounded.step * scale + bias[c];
      EXPECT_NEAR(y[0].Values<float>()[row * outputs + c], expected,
                  1e-5f * (1 + std::abs(expected)))
          << row << ", " << c;
    }
  }
}

TEST(TfliteHybrid, FullyConnected) {
  ExpectLayer(false, false);
  ExpectLayer(false, true);
  ExpectLayer(true, false);
  ExpectLayer(true, true);
}

// One scale for each image; padding is zero.
TEST(TfliteHybrid, Convolution) {
  std::mt19937_64 random(8);
  const int side = 5, inputs = 3, outputs = 4, batch = 2;
  const size_t image = side * side * inputs;
  std::vector<float> x = Reals(image, random, -1, 2);
  const std::vector<float> second = Reals(image, random, 0, 40);
  x.insert(x.end(), second.begin(), second.end());
  const std::vector<int8_t> w = Weights(outputs * 9 * inputs, random);
  const std::vector<float> scales = {0.01f, 0.02f, 0.03f, 0.005f};
  TfliteWriter writer;
  const int in = writer.Value({"x", {batch, side, side, inputs}});
  const int weights = writer.Constant<int8_t>(
      {"w", {outputs, 3, 3, inputs}, tfl::ElementType::INT8, scales, {0, 0, 0, 0}, 0}, w);
  const int out = writer.Value({"y", {batch, side, side, outputs}});
  writer.Op(Op::CONV_2D, {in, weights}, {out},
            tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::SAME, 1, 1));
  const auto y =
      RunBytes(writer.Finish({in}, {out}), {FloatTensor({batch, side, side, inputs}, x)});
  ASSERT_EQ(y.size(), 1u);
  size_t at = 0;
  for (size_t n = 0; n < batch; ++n) {
    const auto begin = x.begin() + static_cast<ptrdiff_t>(n * image);
    const Rounded rounded = Asymmetric({begin, begin + static_cast<ptrdiff_t>(image)});
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) {
        for (int c = 0; c < outputs; ++c) {
          int sum = 0;
          for (int tap = 0; tap < 9; ++tap) {
            const int r = row + tap / 3 - 1, s = column + tap % 3 - 1;
            if (r < 0 || s < 0 || r >= side || s >= side) continue;
            for (int k = 0; k < inputs; ++k) {
              sum += rounded.steps[static_cast<size_t>((r * side + s) * inputs + k)] *
                     w[static_cast<size_t>((c * 9 + tap) * inputs + k)];
            }
          }
          const float expected =
              static_cast<float>(sum) * rounded.step * scales[static_cast<size_t>(c)];
          ASSERT_NEAR(y[0].Values<float>()[at++], expected, 1e-5f * (1 + std::abs(expected)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth
