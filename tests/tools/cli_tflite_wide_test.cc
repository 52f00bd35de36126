// A TFLite network of 16-bit activations and 8-bit weights from file to machine.
#include "tests/planner/tflite_testing.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

class WideNetwork {
 public:
  explicit WideNetwork(uint64_t seed) : random_(seed) {}

  std::string Bytes() {
    const int image = Value({1, 12, 12, 8}, 0.002f);
    const int first = Convolved(image, 10, 0.05f);
    const int deep = Depthwise(first, 0.2f);
    const int sum = Value({1, 12, 12, 10}, 0.21f);
    writer_.Op(Op::ADD, {first, deep}, {sum});
    const int curve = Value({1, 12, 12, 10}, 1.0f / 32768);
    writer_.Op(Op::LOGISTIC, {sum}, {curve});
    const int most = Value({1, 6, 6, 10}, 1.0f / 32768);
    writer_.Op(Op::MAX_POOL_2D, {curve}, {most}, Halving());
    const int mean = Value({1, 3, 3, 10}, 1.0f / 32768);
    writer_.Op(Op::AVERAGE_POOL_2D, {most}, {mean}, Halving());
    const int classes = Layer(mean, 90, 0.0005f);
    const int out = Value({1, 7}, 1.0f / 32768);
    writer_.Op(Op::SOFTMAX, {classes}, {out}, tfl::CreateSoftmaxOptions(writer_.fbb(), 1.0f));
    return writer_.Finish({image}, {deep, out});
  }

 private:
  int Value(std::vector<int32_t> shape, float scale) {
    const std::string name = "v" + std::to_string(count_++);
    return writer_.Value({name, std::move(shape), tfl::ElementType::INT16, {scale}, {0}});
  }
  flatbuffers::Offset<tfl::Pool2DOptions> Halving() {
    return tfl::CreatePool2DOptions(writer_.fbb(), tfl::Padding::SAME, 2, 2, 2, 2);
  }
  // Weights with a scale for each of `channels` along `axis`, and a bias.
  std::vector<int32_t> Weights(const std::vector<int32_t>& shape, int axis) {
    size_t elements = 1;
    for (const int32_t extent : shape) elements *= static_cast<size_t>(extent);
    const auto channels = static_cast<size_t>(shape[static_cast<size_t>(axis)]);
    std::vector<int8_t> w(elements);
    for (int8_t& value : w) value = static_cast<int8_t>(random_() % 255 - 127);
    std::vector<float> scales(channels);
    for (float& scale : scales) scale = 0.005f + 0.0001f * static_cast<float>(random_() % 100);
    std::vector<int64_t> bias(channels);
    for (int64_t& value : bias) value = static_cast<int64_t>(random_() % 200001) - 100000;
    const std::string name = "w" + std::to_string(count_++);
    const std::vector<int64_t> zeros(channels, 0);
    const int weights =
        writer_.Constant<int8_t>({name, shape, tfl::ElementType::INT8, scales, zeros, axis}, w);
    const int offsets = writer_.Constant<int64_t>(
        {name + "b", {static_cast<int32_t>(channels)}, tfl::ElementType::INT64, {1.0f}, {0}}, bias);
    return {weights, offsets};
  }
  int Convolved(int x, int channels, float scale) {
    const auto w = Weights({channels, 3, 3, 8}, 0);
    const int out = Value({1, 12, 12, channels}, scale);
    writer_.Op(Op::CONV_2D, {x, w[0], w[1]}, {out},
               tfl::CreateConv2DOptions(writer_.fbb(), tfl::Padding::SAME, 1, 1));
    return out;
  }
  int Depthwise(int x, float scale) {
    const auto w = Weights({1, 3, 3, 10}, 3);
    const int out = Value({1, 12, 12, 10}, scale);
    writer_.Op(Op::DEPTHWISE_CONV_2D, {x, w[0], w[1]}, {out},
               tfl::CreateDepthwiseConv2DOptions(writer_.fbb(), tfl::Padding::SAME, 1, 1));
    return out;
  }
  int Layer(int x, int inputs, float scale) {
    const auto w = Weights({7, inputs}, 0);
    const int out = Value({1, 7}, scale);
    writer_.Op(Op::FULLY_CONNECTED, {x, w[0], w[1]}, {out},
               tfl::CreateFullyConnectedOptions(writer_.fbb()));
    return out;
  }

  std::mt19937_64 random_;
  TfliteWriter writer_;
  int count_ = 0;
};

TEST(CliTfliteWide, TheMachineAgreesWithTheReference) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TestFile model(WideNetwork(seed).Bytes());
    for (const char* target : {"edge", "mobile"}) {
      const CliResult result = RunBerth({"check", model.path(), "--target", target, "--json"});
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_EQ(result.Json()["passed"], true) << result.out;
    }
  }
}

}  // namespace
}  // namespace berth
