// A hybrid TFLite network (float activations, 8-bit weights) from file to machine.
#include "tests/planner/tflite_testing.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

std::string HybridNetwork(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto weights = [&](size_t count) {
    std::vector<int8_t> values(count);
    for (int8_t& value : values) value = static_cast<int8_t>(random() % 255 - 127);
    return values;
  };
  TfliteWriter writer;
  const int image = writer.Value({"image", {2, 9, 9, 4}});
  const int kernel = writer.Constant<int8_t>({"kernel",
                                              {6, 3, 3, 4},
                                              tfl::ElementType::INT8,
                                              std::vector<float>(6, 0.01f),
                                              std::vector<int64_t>(6, 0),
                                              0},
                                             weights(6 * 9 * 4));
  const int channel_bias = writer.Floats({6}, RandomFloats(6, random));
  const int features = writer.Value({"features", {2, 9, 9, 6}});
  writer.Op(
      Op::CONV_2D, {image, kernel, channel_bias}, {features},
      tfl::CreateConv2DOptions(writer.fbb(), tfl::Padding::SAME, 1, 1, tfl::Activation::RELU));
  const int matrix = writer.Constant<int8_t>(
      {"matrix", {5, 486}, tfl::ElementType::INT8, {0.02f}, {0}}, weights(5 * 486));
  const int bias = writer.Floats({5}, RandomFloats(5, random));
  const int out = writer.Value({"y", {2, 5}});
  writer.Op(Op::FULLY_CONNECTED, {features, matrix, bias}, {out},
            tfl::CreateFullyConnectedOptions(writer.fbb()));
  return writer.Finish({image}, {features, out});
}

// A feature that stands by a half may go the other way on the machine, whose sums are in another
// order: one step of 255 of one activation.
TEST(CliTfliteHybrid, TheMachineAgreesWithTheReference) {
  for (uint64_t seed = 0; seed < 2; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TestFile model(HybridNetwork(seed));
    for (const char* target : {"edge", "mobile"}) {
      const CliResult result =
          RunBerth({"check", model.path(), "--target", target, "--tolerance", "0.002", "--json"});
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_EQ(result.Json()["passed"], true) << result.out;
    }
  }
}

}  // namespace
}  // namespace berth
