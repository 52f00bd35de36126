#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

// What a random convolution looks like; one sampler serves both directions.
struct ConvSample {
  std::vector<int64_t> spatial, kernel, strides, dilations, pads;
  int64_t batch = 1, groups = 1, group_inputs = 1, group_outputs = 1;
};

ConvSample SampleConv(Random& random, int spatial_rank) {
  ConvSample s;
  s.batch = RandomInt(random, 1, 3);
  switch (RandomInt(random, 0, 3)) {
    case 0:  // depthwise, with a multiplier now and then
      s.groups = RandomInt(random, 2, 40);
      s.group_outputs = Chance(random, 0.3) ? RandomInt(random, 2, 3) : 1;
      break;
    case 1:
      s.groups = RandomInt(random, 2, 5);
      s.group_inputs = RandomInt(random, 2, 9);
      s.group_outputs = RandomInt(random, 1, 20);
      break;
    default:
      s.group_inputs = RandomInt(random, 1, 70);
      s.group_outputs = RandomInt(random, 1, 70);
  }
  const int64_t most_extent = spatial_rank == 1 ? 40 : spatial_rank == 2 ? 14 : 6;
  for (int i = 0; i < spatial_rank; ++i) {
    s.kernel.push_back(RandomInt(random, 1, 4));
    s.strides.push_back(RandomInt(random, 1, 3));
    s.dilations.push_back(RandomInt(random, 1, 3));
    const int64_t reach = (s.kernel.back() - 1) * s.dilations.back() + 1;
    s.spatial.push_back(RandomInt(random, reach, std::max(reach, most_extent)));
  }
  for (int i = 0; i < 2 * spatial_rank; ++i) s.pads.push_back(RandomInt(random, 0, 3));
  return s;
}

OpCase MakeCase(Random& random, OpKind kind, const ConvSample& s) {
  OpCase test(kind, 11);
  test.Layout(DataLayout::kNhwc);
  std::vector<int64_t> image = {s.batch};
  image.insert(image.end(), s.spatial.begin(), s.spatial.end());
  image.push_back(s.groups * s.group_inputs);
  std::vector<int64_t> weights = s.kernel;
  const bool transposed = kind == OpKind::kConvTranspose;
  weights.push_back(transposed ? s.groups * s.group_inputs : s.group_inputs);
  weights.push_back(transposed ? s.group_outputs : s.groups * s.group_outputs);
  test.Input(RandomTensor(random, DType::kFloat32, Shape(image)));
  test.Constant(RandomTensor(random, DType::kFloat32, Shape(weights)));
  if (Chance(random, 0.6)) {
    test.Constant(RandomTensor(random, DType::kFloat32, Shape{s.groups * s.group_outputs}));
  }
  test.Attribute("strides", s.strides).Attribute("dilations", s.dilations);
  test.Attribute("group", s.groups);
  if (Chance(random, 0.2)) {
    constexpr const char* kModes[] = {"VALID", "SAME_UPPER", "SAME_LOWER"};
    test.Attribute("auto_pad", std::string(kModes[RandomInt(random, 0, 2)]));
  } else {
    test.Attribute("pads", s.pads);
  }
  if (Chance(random, 0.3)) test.Fuse(OpKind::kRelu);
  if (Chance(random, 0.3)) {
    test.Fuse(OpKind::kMul, {},
              {RandomTensor(random, DType::kFloat32, Shape{s.groups * s.group_outputs})});
  }
  return test;
}

constexpr double kTolerance = 1e-5;

::testing::AssertionResult Matches(OpCase& test) {
  for (int64_t scratchpad_bytes : {16 << 20, 384 << 10, 32 << 10}) {
    for (bool strided : {false, true}) {
      HarnessOptions options;
      options.scratchpad_bytes = scratchpad_bytes;
      options.accumulator_bytes = scratchpad_bytes / 4;
      options.relative_tolerance = kTolerance;
      options.strided = strided;
      if (auto result = MatchesReference(test, options); !result) return result;
    }
  }
  HarnessOptions resident;
  resident.relative_tolerance = kTolerance;
  resident.resident = true;
  return MatchesReference(test, resident);
}

// Types as the operator infers them, or the error.
absl::StatusOr<Shape> InferredShape(OpCase& test) {
  BERTH_RETURN_IF_ERROR(test.Infer());
  return test.graph().at(test.node().outputs[0]).type.shape;
}

class ConvRandom : public ::testing::TestWithParam<std::tuple<OpKind, int>> {};

TEST_P(ConvRandom, MatchesReference) {
  const auto [kind, spatial_rank] = GetParam();
  int ran = 0;
  const int seeds = spatial_rank == 3 ? 16 : 60;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(static_cast<uint64_t>(seed * 4 + spatial_rank));
    OpCase test = MakeCase(random, kind, SampleConv(random, spatial_rank));
    if (absl::IsInvalidArgument(test.Infer())) continue;  // pads beyond the output
    ++ran;
    ASSERT_TRUE(Matches(test));
  }
  EXPECT_GT(ran, seeds / 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ConvRandom,
                         ::testing::Combine(::testing::Values(OpKind::kConv,
                                                              OpKind::kConvTranspose),
                                            ::testing::Values(1, 2, 3)));

TEST(ConvTest, WindowInsideThePadReadsZeros) {
  Random random(1);
  OpCase test(OpKind::kConv, 11);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 3, 3, 4}));
  test.Constant(RandomTensor(random, DType::kFloat32, {2, 2, 4, 5}));
  test.Constant(RandomTensor(random, DType::kFloat32, {5}));
  test.Attribute("pads", std::vector<int64_t>{6, 5, 4, 7});
  EXPECT_TRUE(Matches(test));
}

TEST(ConvTest, LargeLayersTileOverChannels) {
  Random random(2);
  OpCase test(OpKind::kConv, 11);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 7, 7, 256}));
  test.Constant(RandomTensor(random, DType::kFloat32, {3, 3, 256, 128}));
  test.Attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  EXPECT_TRUE(Matches(test));
}

TEST(ConvTest, HalfPrecisionWidensItsBias) {
  Random random(3);
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    OpCase test(OpKind::kConv, 11);
    test.Layout(DataLayout::kNhwc);
    test.Input(RandomTensor(random, dtype, {1, 6, 5, 8}));
    test.Constant(RandomTensor(random, dtype, {3, 3, 8, 20}));
    test.Constant(RandomTensor(random, dtype, {20}));
    EXPECT_TRUE(MatchesReference(test));
  }
}

// As a model stored at half size has it: the bias goes into the sums as it is, and so does an
// activation.
TEST(ConvTest, HalfPrecisionTakesAWideBiasAndActivates) {
  Random random(31);
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t group : {1, 8}) {
      OpCase test(OpKind::kConv, 11);
      test.Layout(DataLayout::kNhwc);
      test.Input(RandomTensor(random, dtype, {1, 6, 5, 8}));
      test.Constant(RandomTensor(random, dtype, {3, 3, 8 / group, 16}));
      test.Constant(RandomTensor(random, DType::kFloat32, {16}));
      test.Attribute("group", group);
      test.Fuse(OpKind::kRelu);
      HarnessStats stats;
      EXPECT_TRUE(MatchesReference(test, {}, &stats)) << DTypeName(dtype);
      EXPECT_EQ(stats.vector_commands, 0);
      EXPECT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
    }
  }
}

TEST(ConvTest, EveryByteOfALargeImageMovesOnceWhereItCan) {
  Random random(4);
  OpCase test(OpKind::kConv, 11);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 56, 56, 64}));
  test.Constant(RandomTensor(random, DType::kFloat32, {1, 1, 64, 64}));
  HarnessStats stats;
  HarnessOptions options;
  options.relative_tolerance = kTolerance;
  ASSERT_TRUE(MatchesReference(test, options, &stats));
  EXPECT_EQ(stats.load_bytes, (56 * 56 * 64 + 64 * 64) * 4);
  EXPECT_EQ(stats.store_bytes, 56 * 56 * 64 * 4);
}

TEST(ConvTest, RowsUnderTheWindowAreNotLoadedAgain) {
  Random random(6);
  OpCase test(OpKind::kConv, 11);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 60, 56, 32}));
  test.Constant(RandomTensor(random, DType::kFloat32, {3, 3, 1, 32}));
  test.Attribute("group", int64_t{32}).Attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  HarnessStats stats;
  HarnessOptions options;
  options.relative_tolerance = kTolerance;
  options.scratchpad_bytes = 192 << 10;
  ASSERT_TRUE(MatchesReference(test, options, &stats));
  EXPECT_EQ(stats.load_bytes, (60 * 56 * 32 + 9 * 32) * 4);
}

TEST(ConvTest, TransposedOutputShapeBeyondTheInputIsBias) {
  Random random(5);
  OpCase test(OpKind::kConvTranspose, 11);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 3, 3, 2}));
  test.Constant(RandomTensor(random, DType::kFloat32, {3, 3, 2, 4}));
  test.Constant(RandomTensor(random, DType::kFloat32, {4}));
  test.Attribute("strides", std::vector<int64_t>{3, 2});
  test.Attribute("output_shape", std::vector<int64_t>{10, 12});
  EXPECT_TRUE(Matches(test));
}

OpCase ShapeCase(OpKind kind, const Shape& image, const Shape& weights) {
  OpCase test(kind, 11);
  test.Input(Tensor({DType::kFloat32, image}));
  test.Constant(Tensor({DType::kFloat32, weights}));
  return test;
}

TEST(ConvTypes, BothLayoutsAgree) {
  OpCase nchw = ShapeCase(OpKind::kConv, {2, 6, 9, 8}, {10, 3, 3, 2});
  nchw.Attribute("group", int64_t{2}).Attribute("strides", std::vector<int64_t>{2, 1});
  EXPECT_EQ(*InferredShape(nchw), (Shape{2, 10, 4, 7}));
  OpCase nhwc = ShapeCase(OpKind::kConv, {2, 9, 8, 6}, {3, 2, 3, 10});
  nhwc.Layout(DataLayout::kNhwc);
  nhwc.Attribute("group", int64_t{2}).Attribute("strides", std::vector<int64_t>{2, 1});
  EXPECT_EQ(*InferredShape(nhwc), (Shape{2, 4, 7, 10}));
}

TEST(ConvTypes, TransposedOutput) {
  OpCase test = ShapeCase(OpKind::kConvTranspose, {1, 4, 3, 3}, {4, 2, 3, 3});
  test.Attribute("strides", std::vector<int64_t>{3, 2});
  test.Attribute("output_padding", std::vector<int64_t>{1, 1});
  test.Attribute("pads", std::vector<int64_t>{1, 0, 0, 1});
  EXPECT_EQ(*InferredShape(test), (Shape{1, 2, 9, 7}));
}

TEST(ConvTypes, ContradictionsAreRefused) {
  const auto refused = [](OpCase test) { return absl::IsInvalidArgument(test.Infer()); };
  EXPECT_TRUE(refused(ShapeCase(OpKind::kConv, {1, 3, 8, 8}, {4, 2, 3, 3})));  // channels
  EXPECT_TRUE(refused(ShapeCase(OpKind::kConv, {1, 3, 8, 8}, {4, 3, 3})));     // rank
  EXPECT_TRUE(refused(ShapeCase(OpKind::kConv, {1, 3, 2, 2}, {4, 3, 3, 3})));  // too small
  EXPECT_TRUE(refused(ShapeCase(OpKind::kConv, {1, 3}, {4, 3})));              // no space
  for (const char* name : {"strides", "dilations"}) {
    OpCase test = ShapeCase(OpKind::kConv, {1, 3, 8, 8}, {4, 3, 3, 3});
    test.Attribute(name, std::vector<int64_t>{0, 1});
    EXPECT_TRUE(refused(test)) << name;
  }
  OpCase group = ShapeCase(OpKind::kConv, {1, 3, 8, 8}, {4, 3, 3, 3});
  EXPECT_TRUE(refused(group.Attribute("group", int64_t{0})));
  OpCase kernel = ShapeCase(OpKind::kConv, {1, 3, 8, 8}, {4, 3, 3, 3});
  EXPECT_TRUE(refused(kernel.Attribute("kernel_shape", std::vector<int64_t>{5, 5})));
}

}  // namespace
}  // namespace berth::testing
