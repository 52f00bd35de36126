#include "kernels/ops/resize_axis.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, Shape{static_cast<int64_t>(values.size())},
                                   values);
}

const char* Pick(Random& random, std::initializer_list<const char*> names) {
  return names.begin()[RandomInt(random, 0, static_cast<int64_t>(names.size()) - 1)];
}

// Scales or sizes stand in ONNX's order of the axes in both layouts.
OpCase SampleResize(Random& random, DataLayout layout) {
  OpCase test(OpKind::kResize, 13);
  test.Layout(layout);
  const int64_t channels = RandomInt(random, 1, 20);
  const int64_t height = RandomInt(random, 1, 16), width = RandomInt(random, 1, 16);
  test.Input(RandomTensor(random, DType::kFloat32,
                          layout == DataLayout::kNchw ? Shape{2, channels, height, width}
                                                      : Shape{2, height, width, channels}));
  test.Absent();
  if (Chance(random, 0.5)) {
    const auto scale = [&] { return static_cast<float>(RandomInt(random, 4, 20)) / 8; };
    test.Constant(Floats({1, 1, std::max(scale(), 1 / static_cast<float>(height)),
                          std::max(scale(), 1 / static_cast<float>(width))}));
  } else {
    test.Absent();
    test.Constant(Int64Tensor({2, channels, RandomInt(random, 1, 25), RandomInt(random, 1, 25)}));
  }
  test.Attribute("mode", std::string(Pick(random, {"nearest", "linear", "cubic"})));
  test.Attribute("coordinate_transformation_mode",
                 std::string(Pick(
                     random, {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"})));
  test.Attribute(
      "nearest_mode",
      std::string(Pick(random, {"round_prefer_floor", "floor", "ceil", "round_prefer_ceil"})));
  test.Attribute("exclude_outside", RandomInt(random, 0, 1));
  if (Chance(random, 0.2)) test.Fuse(OpKind::kRelu);
  return test;
}

TEST(ResizeTest, RandomResizesMatchTheReference) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    OpCase test = SampleResize(random, Chance(random, 0.5) ? DataLayout::kNchw : DataLayout::kNhwc);
    ASSERT_TRUE(MatchesEverywhere(test));
  }
}

TEST(ResizeTest, NearestCopiesAnyDType) {
  Random random(1);
  for (DType dtype : {DType::kInt64, DType::kUInt8, DType::kBool, DType::kFloat16}) {
    OpCase test(OpKind::kResize, 11);
    test.Input(RandomTensor(random, dtype, {1, 3, 4, 5}));
    test.Absent().Constant(Floats({1, 1, 2, 3}));
    EXPECT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
  }
}

TEST(ResizeTest, UpsampleOfEveryVersion) {
  Random random(2);
  for (int opset : {7, 9}) {
    OpCase test(OpKind::kUpsample, opset);
    test.Input(RandomTensor(random, DType::kFloat32, {1, 2, 5, 6}));
    if (opset == 7) {
      test.Attribute("scales", std::vector<float>{1, 1, 2, 3});
    } else {
      test.Constant(Floats({1, 1, 2, 3}));
    }
    test.Attribute("mode", std::string("linear"));
    EXPECT_TRUE(MatchesEverywhere(test));
    EXPECT_EQ(test.graph().at(test.node().outputs[0]).type.shape, (Shape{1, 2, 10, 18}));
  }
}

AxisTaps Taps(ResizeMode mode, ResizeCoordinates coordinates, ResizeNearest nearest, int64_t input,
              int64_t output, float scale) {
  ResizePlan plan;
  plan.mode = mode;
  plan.coordinates = coordinates;
  plan.nearest = nearest;
  return MakeAxisTaps(plan, {0, input, output, scale});
}

TEST(ResizeTaps, DoublingRepeatsEverySample) {
  const AxisTaps taps =
      Taps(ResizeMode::kNearest, ResizeCoordinates::kAsymmetric, ResizeNearest::kFloor, 3, 6, 2);
  EXPECT_EQ(taps.indices, (std::vector<int32_t>{0, 0, 1, 1, 2, 2}));
}

TEST(ResizeTaps, HalfPixelLinearClampsAtTheEdges) {
  const AxisTaps taps =
      Taps(ResizeMode::kLinear, ResizeCoordinates::kHalfPixel, ResizeNearest::kFloor, 2, 4, 2);
  EXPECT_EQ(taps.indices, (std::vector<int32_t>{0, 1, 0, 1, 0, 1, 1, 1}));
  EXPECT_EQ(taps.weights, (std::vector<float>{1, 0, 0.75f, 0.25f, 0.25f, 0.75f, 1, 0}));
}

TEST(ResizeTaps, CubicWeightsSumToOne) {
  const AxisTaps taps = Taps(ResizeMode::kCubic, ResizeCoordinates::kHalfPixel,
                             ResizeNearest::kFloor, 7, 11, 11.0f / 7);
  for (size_t i = 0; i < taps.weights.size(); i += 4) {
    EXPECT_NEAR(taps.weights[i] + taps.weights[i + 1] + taps.weights[i + 2] + taps.weights[i + 3],
                1, 1e-6);
  }
}

TEST(ResizeTypes, RefusesWhatItDoesNotKnow) {
  const auto infer = [](std::string_view name, const char* value) {
    OpCase test(OpKind::kResize, 13);
    test.Input(Tensor({DType::kFloat32, {1, 1, 4, 4}})).Absent().Constant(Floats({1, 1, 2, 2}));
    test.Attribute(name, std::string(value));
    return test.Infer();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(infer("mode", "lanczos")));
  EXPECT_TRUE(absl::IsUnimplemented(infer("coordinate_transformation_mode", "tf_crop_and_resize")));
  OpCase unknown(OpKind::kResize, 13);
  unknown.Input(Tensor({DType::kFloat32, {1, 1, 4, 4}})).Absent().Input(Floats({1, 1, 2, 2}));
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown.Infer()));
}

}  // namespace
}  // namespace berth::testing
