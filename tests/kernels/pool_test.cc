#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

OpCase SamplePool(Random& random, OpKind kind, int spatial_rank) {
  OpCase test(kind, 19);
  test.Layout(DataLayout::kNhwc);
  std::vector<int64_t> image = {RandomInt(random, 1, 3)}, kernel, strides, dilations, pads;
  const int64_t most = spatial_rank == 1 ? 40 : spatial_rank == 2 ? 13 : 7;
  for (int i = 0; i < spatial_rank; ++i) {
    kernel.push_back(RandomInt(random, 1, 4));
    strides.push_back(RandomInt(random, 1, 3));
    dilations.push_back(RandomInt(random, 1, 2));
    image.push_back(RandomInt(random, 7, std::max<int64_t>(7, most)));
  }
  for (int i = 0; i < 2 * spatial_rank; ++i) {
    pads.push_back(RandomInt(random, 0, kernel[static_cast<size_t>(i % spatial_rank)] - 1));
  }
  image.push_back(RandomInt(random, 1, 40));
  test.Input(RandomTensor(random, DType::kFloat32, Shape(image)));
  test.Attribute("kernel_shape", kernel).Attribute("strides", strides);
  test.Attribute("dilations", dilations).Attribute("ceil_mode", RandomInt(random, 0, 1));
  if (Chance(random, 0.2)) {
    constexpr const char* kModes[] = {"VALID", "SAME_UPPER", "SAME_LOWER"};
    test.Attribute("auto_pad", std::string(kModes[RandomInt(random, 0, 2)]));
  } else {
    test.Attribute("pads", pads);
  }
  if (kind == OpKind::kAveragePool) {
    test.Attribute("count_include_pad", RandomInt(random, 0, 1));
  }
  if (Chance(random, 0.2)) test.Fuse(OpKind::kRelu);
  return test;
}

class PoolRandom : public ::testing::TestWithParam<std::tuple<OpKind, int>> {};

TEST_P(PoolRandom, MatchesReference) {
  const auto [kind, spatial_rank] = GetParam();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed * 4 + static_cast<uint64_t>(spatial_rank));
    OpCase test = SamplePool(random, kind, spatial_rank);
    ASSERT_TRUE(MatchesEverywhere(test));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PoolRandom,
                         ::testing::Combine(::testing::Values(OpKind::kMaxPool,
                                                              OpKind::kAveragePool),
                                            ::testing::Values(1, 2, 3)));

TEST(PoolTest, BytesPoolByTheirMaximum) {
  Random random(1);
  for (DType dtype : {DType::kInt8, DType::kUInt8}) {
    OpCase test(OpKind::kMaxPool, 12);
    test.Layout(DataLayout::kNhwc);
    test.Input(RandomTensor(random, dtype, {1, 9, 9, 24}, -128, 255));
    test.Attribute("kernel_shape", std::vector<int64_t>{3, 3});
    test.Attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
    EXPECT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
  }
}

TEST(PoolTest, RowsUnderTheWindowAreNotLoadedAgain) {
  Random random(4);
  OpCase test(OpKind::kMaxPool, 12);
  test.Layout(DataLayout::kNhwc);
  test.Input(RandomTensor(random, DType::kFloat32, {1, 61, 50, 24}));
  test.Attribute("kernel_shape", std::vector<int64_t>{3, 3});
  test.Attribute("strides", std::vector<int64_t>{2, 2});
  HarnessStats stats;
  HarnessOptions options;
  options.scratchpad_bytes = 128 << 10;
  ASSERT_TRUE(MatchesReference(test, options, &stats));
  EXPECT_EQ(stats.load_bytes, 61 * 49 * 24 * 4);  // no window reaches the last column
}

TEST(PoolTest, CeilModeLeavesOutAWindowBeyondTheInput) {
  OpCase test(OpKind::kMaxPool, 12);
  test.Input(Tensor({DType::kFloat32, {1, 1, 2, 5}}));
  test.Attribute("kernel_shape", std::vector<int64_t>{1, 2}).Attribute("ceil_mode", int64_t{1});
  test.Attribute("strides", std::vector<int64_t>{3, 3});
  test.Attribute("pads", std::vector<int64_t>{0, 0, 0, 1});
  ASSERT_TRUE(test.Infer().ok());
  EXPECT_EQ(test.graph().at(test.node().outputs[0]).type.shape, (Shape{1, 1, 1, 2}));
}

TEST(PoolTest, ContradictionsAreRefused) {
  const auto infer = [](std::vector<int64_t> kernel, std::vector<int64_t> pads) {
    OpCase test(OpKind::kAveragePool, 11);
    test.Input(Tensor({DType::kFloat32, {1, 2, 6, 6}}));
    if (!kernel.empty()) test.Attribute("kernel_shape", kernel);
    test.Attribute("pads", pads);
    return test.Infer();
  };
  EXPECT_TRUE(infer({3, 3}, {1, 1, 1, 1}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(infer({}, {0, 0, 0, 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({3}, {0, 0, 0, 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({3, 3}, {3, 0, 0, 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({9, 3}, {0, 0, 0, 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({0, 3}, {0, 0, 0, 0})));
}

TEST(PoolTest, GlobalPoolsReduceAllOfSpace) {
  Random random(2);
  for (OpKind kind : {OpKind::kGlobalAveragePool, OpKind::kGlobalMaxPool}) {
    for (DataLayout layout : {DataLayout::kNchw, DataLayout::kNhwc}) {
      OpCase test(kind, 11);
      test.Layout(layout);
      test.Input(RandomTensor(random, DType::kFloat32, {2, 7, 9, 21}));
      EXPECT_TRUE(MatchesEverywhere(test));
    }
  }
}

TEST(LrnTest, BothLayoutsMatchTheReference) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    OpCase test(OpKind::kLRN, 13);
    test.Layout(Chance(random, 0.5) ? DataLayout::kNchw : DataLayout::kNhwc);
    test.Input(RandomTensor(random, DType::kFloat32, RandomShape(random, 3, 4, 12)));
    test.Attribute("size", RandomInt(random, 1, 7)).Attribute("alpha", 0.3f);
    test.Attribute("beta", 0.6f).Attribute("bias", 1.5f);
    HarnessOptions options;
    options.relative_tolerance = 1e-5;
    ASSERT_TRUE(MatchesReference(test, options));
  }
}

TEST(BatchNormTest, KnownAndComputedStatisticsMatchTheReference) {
  Random random(3);
  for (bool known : {true, false}) {
    for (DataLayout layout : {DataLayout::kNchw, DataLayout::kNhwc}) {
      OpCase test(OpKind::kBatchNormalization, 15);
      test.Layout(layout);
      const int64_t channels = 11;
      test.Input(RandomTensor(
          random, DType::kFloat32,
          layout == DataLayout::kNchw ? Shape{2, channels, 5, 6} : Shape{2, 5, 6, channels}));
      for (int i = 1; i < 5; ++i) {
        Tensor values = RandomTensor(random, DType::kFloat32, {channels}, i == 4 ? 0.1 : -2, 2);
        if (known) {
          test.Constant(std::move(values));
        } else {
          test.Input(std::move(values));
        }
      }
      HarnessOptions options;
      options.relative_tolerance = 1e-5;
      EXPECT_TRUE(MatchesReference(test, options));
    }
  }
}

}  // namespace
}  // namespace berth::testing
