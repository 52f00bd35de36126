// Ops that are compositions of simpler ones: normalizations, positions, running sums, composite
// reductions.
#include <cmath>
#include <limits>

#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64};

TEST(Composition, ReductionsOfTerms) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind :
         {OpKind::kReduceProd, OpKind::kReduceL1, OpKind::kReduceL2, OpKind::kReduceSumSquare,
          OpKind::kReduceLogSum, OpKind::kReduceLogSumExp}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32}) {
        const Shape shape = RandomShape(random, 1, 4, 5);
        OpCase test(kind, 18);
        test.Input(RandomTensor(random, dtype, shape, IsFloat(dtype) ? 0.5 : 1, 2));
        if (Chance(random, 0.7)) {
          test.Constant(Int64Tensor({RandomInt(random, -shape.rank(), shape.rank() - 1)}));
        }
        test.Attribute("keepdims", RandomInt(random, 0, 1));
        ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << OpName(kind) << " " << DTypeName(dtype);
      }
    }
  }
}

TEST(Composition, LongReductionsOfTermsContinueOverTiles) {
  Random random(2);
  for (const OpKind kind : {OpKind::kReduceL1, OpKind::kReduceSumSquare, OpKind::kReduceL2}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt32}) {
      OpCase test(kind, 13);
      test.Input(RandomTensor(random, dtype, Shape{2, 5000}, -2, 2))
          .Attribute("axes", std::vector<int64_t>{1});
      ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 4 << 10}))
          << OpName(kind) << DTypeName(dtype);
    }
  }
}

TEST(Composition, LogSumExpOfLargeAndInfinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  OpCase test(OpKind::kReduceLogSumExp, 13);
  test.Attribute("axes", std::vector<int64_t>{1})
      .Input(MakeTensor<float>(DType::kFloat32, Shape{3, 2}, {-kInf, -kInf, kInf, 1, 200, 200}));
  ASSERT_TRUE(test.Infer().ok());
  const auto outputs = RunOnMachine(test, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto values = (*outputs)[0].Values<float>();
  EXPECT_EQ(values[0], -kInf);
  EXPECT_EQ(values[1], kInf);
  EXPECT_NEAR(values[2], 200.69315f, 1e-3);
}

TEST(Composition, InstanceAndGroupNormalization) {
  Random random(3);
  for (const DType dtype : kFloats) {
    for (const int opset : {18, 21}) {
      OpCase group(OpKind::kGroupNormalization, opset);
      const Shape list{opset < 21 ? 3 : 6};
      group.Attribute("num_groups", int64_t{3})
          .Input(RandomTensor(random, dtype, Shape{2, 6, 5, 4}, 1, 3))
          .Input(RandomTensor(random, dtype, list))
          .Input(RandomTensor(random, dtype, list));
      EXPECT_TRUE(MatchesEverywhere(group, 4 << 10)) << DTypeName(dtype) << opset;
    }
    OpCase instance(OpKind::kInstanceNormalization);
    instance.Attribute("epsilon", 1e-3f)
        .Input(RandomTensor(random, dtype, Shape{2, 6, 5, 4}, 1, 3))
        .Constant(RandomTensor(random, dtype, Shape{6}))
        .Input(RandomTensor(random, dtype, Shape{6}));
    EXPECT_TRUE(MatchesEverywhere(instance, 4 << 10)) << DTypeName(dtype);
  }
  OpCase uneven(OpKind::kGroupNormalization, 18);
  uneven.Attribute("num_groups", int64_t{4})
      .Input(RandomTensor(random, DType::kFloat32, Shape{2, 6, 5}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{4}))
      .SameAs(1);
  EXPECT_EQ(uneven.Infer().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Composition, BatchNormalizationInTraining) {
  Random random(9);
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{3, 4, 5, 2}, Shape{6, 4}}) {
      OpCase test(OpKind::kBatchNormalization, 15);
      test.Attribute("training_mode", int64_t{1})
          .Attribute("momentum", 0.7f)
          .Attribute("epsilon", 1e-2f)
          .Input(RandomTensor(random, dtype, shape, 1, 3));
      for (int i = 0; i < 4; ++i) test.Input(RandomTensor(random, dtype, Shape{4}, 0.5, 2));
      test.Outputs(3);
      // Factor and addend are rounded to the data's dtype before they meet them.
      HarnessOptions options;
      if (dtype == DType::kFloat16) options.relative_tolerance = 1e-2;
      EXPECT_TRUE(MatchesReference(test, options)) << DTypeName(dtype) << shape.ToString();
    }
  }
}

TEST(Composition, MeanVarianceAndLpNormalization) {
  Random random(4);
  for (const DType dtype : kFloats) {
    OpCase mean_variance(OpKind::kMeanVarianceNormalization);
    mean_variance.Input(RandomTensor(random, dtype, Shape{3, 4, 5, 2}, 1, 3));
    if (Chance(random, 0.5)) mean_variance.Attribute("axes", std::vector<int64_t>{-1, 0});
    EXPECT_TRUE(MatchesEverywhere(mean_variance, 2 << 10)) << DTypeName(dtype);
    for (const int64_t p : {1, 2}) {
      OpCase lp(OpKind::kLpNormalization);
      Tensor x = RandomTensor(random, dtype, Shape{4, 6, 3});
      std::fill(x.bytes().begin(), x.bytes().begin() + 18 * DTypeBytes(dtype), std::byte{0});
      lp.Attribute("p", p).Attribute("axis", int64_t{1}).Input(x);
      EXPECT_TRUE(MatchesEverywhere(lp, 2 << 10)) << DTypeName(dtype) << p;
    }
  }
}

TEST(Composition, TrianglesAndDiagonals) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool};
    const DType dtype = dtypes[RandomInt(random, 0, 3)];
    const Shape shape = RandomShape(random, 2, 4, 8);
    OpCase trilu(OpKind::kTrilu, 14);
    trilu.Attribute("upper", RandomInt(random, 0, 1)).Input(RandomTensor(random, dtype, shape));
    const Tensor k = MakeTensor<int64_t>(DType::kInt64, Chance(random, 0.5) ? Shape{} : Shape{1},
                                         {RandomInt(random, -9, 9)});
    if (Chance(random, 0.8)) Chance(random, 0.5) ? trilu.Constant(k) : trilu.Input(k);
    ASSERT_TRUE(MatchesEverywhere(trilu, 2 << 10)) << DTypeName(dtype);
    OpCase eye(OpKind::kEyeLike, 9);
    eye.Attribute("k", RandomInt(random, -4, 4))
        .Input(RandomTensor(random, dtype, Shape{shape[0], shape[1]}));
    if (Chance(random, 0.5)) eye.Attribute("dtype", int64_t{11});  // float64
    ASSERT_TRUE(MatchesEverywhere(eye, 2 << 10)) << DTypeName(dtype);
  }
}

TEST(Composition, OneHotAndHardmax) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType indices[] = {DType::kInt64, DType::kInt32, DType::kFloat32, DType::kUInt8};
    const DType dtype = indices[RandomInt(random, 0, 3)];
    const Shape shape = RandomShape(random, 0, 3, 6);
    Tensor wanted = RandomTensor(random, dtype, shape, IsSigned(dtype) ? -7 : 0, 7);
    if (dtype == DType::kFloat32) {
      for (float& value : wanted.Values<float>()) value = std::trunc(value);
    }
    OpCase one_hot(OpKind::kOneHot, 11);
    one_hot.Attribute("axis", RandomInt(random, -shape.rank() - 1, shape.rank()))
        .Input(std::move(wanted))
        .Constant(MakeTensor<float>(DType::kFloat32, Shape{}, {5}))
        .Input(MakeTensor<int32_t>(DType::kInt32, Shape{2}, {-3, 8}));
    ASSERT_TRUE(MatchesEverywhere(one_hot, 2 << 10)) << DTypeName(dtype);
    const Shape plane = RandomShape(random, 1, 4, 6);
    OpCase hardmax(OpKind::kHardmax, Chance(random, 0.5) ? 13 : 11);
    hardmax.Attribute("axis", RandomInt(random, -plane.rank(), plane.rank() - 1))
        .Input(
            RandomTensor(random, Chance(random, 0.5) ? DType::kFloat32 : DType::kFloat16, plane));
    ASSERT_TRUE(MatchesEverywhere(hardmax, 2 << 10));
  }
}

TEST(Composition, RunningSums) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32,
                            DType::kUInt64};
    const DType dtype = dtypes[RandomInt(random, 0, 4)];
    const Shape shape = RandomShape(random, 1, 3, 20);
    OpCase test(OpKind::kCumSum, 14);
    test.Attribute("exclusive", RandomInt(random, 0, 1))
        .Attribute("reverse", RandomInt(random, 0, 1))
        .Input(RandomTensor(random, dtype, shape, IsSigned(dtype) ? -3 : 0, 3))
        .Constant(Int64Tensor({RandomInt(random, -shape.rank(), shape.rank() - 1)}));
    ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << DTypeName(dtype);
  }
}

}  // namespace
}  // namespace berth::testing
