#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

struct Operands {
  std::vector<int64_t> a, b;
};

Operands SampleOperands(Random& random, int64_t most_extent) {
  const int64_t m = RandomInt(random, 1, most_extent);
  const int64_t k = RandomInt(random, 1, most_extent);
  const int64_t n = RandomInt(random, 1, most_extent);
  const Shape batch = RandomShape(random, 0, 3, 4);
  Operands operands;
  operands.a = RandomBroadcastOf(random, batch).extents();
  operands.b = RandomBroadcastOf(random, batch).extents();
  operands.a.insert(operands.a.end(), {m, k});
  operands.b.insert(operands.b.end(), {k, n});
  if (Chance(random, 0.1)) operands.a = {k};
  if (Chance(random, 0.1)) operands.b = {k};
  return operands;
}

::testing::AssertionResult Matches(OpCase& test) {
  for (int64_t scratchpad_bytes : {16 << 20, 32 << 10}) {
    for (bool strided : {false, true}) {
      HarnessOptions options;
      options.scratchpad_bytes = scratchpad_bytes;
      options.accumulator_bytes = scratchpad_bytes / 4;
      options.relative_tolerance = 1e-5;
      options.strided = strided;
      if (auto result = MatchesReference(test, options); !result) return result;
    }
  }
  HarnessOptions resident;
  resident.relative_tolerance = 1e-5;
  resident.resident = true;
  return MatchesReference(test, resident);
}

TEST(MatMulTest, RandomBatchesMatchTheReference) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Operands operands = SampleOperands(random, Chance(random, 0.3) ? 100 : 20);
    OpCase test(OpKind::kMatMul, 13);
    test.Input(RandomTensor(random, DType::kFloat32, Shape(operands.a)));
    test.Input(RandomTensor(random, DType::kFloat32, Shape(operands.b)));
    if (Chance(random, 0.3)) test.Fuse(OpKind::kRelu);
    ASSERT_TRUE(Matches(test));
  }
}

TEST(MatMulTest, TransposedOperandsAndBias) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Operands operands = SampleOperands(random, 40);
    if (operands.a.size() < 2 || operands.b.size() < 2) continue;
    const int64_t columns = operands.b.back();
    const bool trans_a = Chance(random, 0.5), trans_b = Chance(random, 0.5);
    if (trans_a) std::swap(operands.a.back(), operands.a[operands.a.size() - 2]);
    if (trans_b) std::swap(operands.b.back(), operands.b[operands.b.size() - 2]);
    OpCase test(OpKind::kMatMul, 13);
    test.Input(RandomTensor(random, DType::kFloat32, Shape(operands.a)));
    test.Constant(RandomTensor(random, DType::kFloat32, Shape(operands.b)));
    test.Constant(RandomTensor(random, DType::kFloat32, Shape{columns}));
    test.Attribute("transA", int64_t{trans_a}).Attribute("transB", int64_t{trans_b});
    ASSERT_TRUE(Matches(test));
  }
}

TEST(MatMulTest, OtherDTypesRunOnTheVectorUnit) {
  Random random(7);
  for (DType dtype : {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kFloat64,
                      DType::kFloat16, DType::kBFloat16}) {
    OpCase test(OpKind::kMatMul, 13);
    test.Input(RandomTensor(random, dtype, {2, 5, 37}, -9, 9));
    test.Input(RandomTensor(random, dtype, {37, 19}, -9, 9));
    EXPECT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
  }
}

TEST(MatMulTest, HalfPrecisionTakesAWideBias) {
  Random random(9);
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t inner : {0, 37}) {
      OpCase test(OpKind::kMatMul, 13);
      test.Input(RandomTensor(random, dtype, {5, inner}));
      test.Constant(RandomTensor(random, dtype, {inner, 19}));
      test.Constant(RandomTensor(random, DType::kFloat32, {19}));
      EXPECT_TRUE(MatchesReference(test)) << DTypeName(dtype) << ", inner " << inner;
    }
  }
}

TEST(MatMulTest, SharedWeightsAreLoadedOnce) {
  Random random(8);
  OpCase test(OpKind::kMatMul, 13);
  test.Input(RandomTensor(random, DType::kFloat32, {4, 64, 96}));
  test.Constant(RandomTensor(random, DType::kFloat32, {96, 80}));
  HarnessStats stats;
  HarnessOptions options;
  options.relative_tolerance = 1e-5;
  ASSERT_TRUE(MatchesReference(test, options, &stats));
  EXPECT_EQ(stats.load_bytes, (4 * 64 * 96 + 96 * 80) * 4);
}

TEST(MatMulTest, EmptyInnerAxisGivesZeros) {
  OpCase test(OpKind::kMatMul, 13);
  test.Input(Tensor({DType::kFloat32, {3, 0}}));
  test.Input(Tensor({DType::kFloat32, {0, 4}}));
  EXPECT_TRUE(MatchesReference(test));
}

TEST(MatMulTest, ContradictionsAreRefused) {
  const auto infer = [](const Shape& a, const Shape& b) {
    OpCase test(OpKind::kMatMul, 13);
    test.Input(Tensor({DType::kFloat32, a})).Input(Tensor({DType::kFloat32, b}));
    return test.Infer();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(infer({2, 3}, {4, 5})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({2, 2, 3}, {3, 3, 5})));
  EXPECT_TRUE(absl::IsInvalidArgument(infer({}, {3})));
}

TEST(GemmTest, AllFormsMatchTheReference) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const int64_t m = RandomInt(random, 1, 30), n = RandomInt(random, 1, 30);
    const int64_t k = RandomInt(random, 1, 30);
    const bool trans_a = Chance(random, 0.5), trans_b = Chance(random, 0.5);
    OpCase test(OpKind::kGemm, 13);
    test.Input(RandomTensor(random, DType::kFloat32, trans_a ? Shape{k, m} : Shape{m, k}));
    test.Input(RandomTensor(random, DType::kFloat32, trans_b ? Shape{n, k} : Shape{k, n}));
    if (Chance(random, 0.7)) {
      test.Constant(RandomTensor(random, DType::kFloat32, RandomBroadcastOf(random, {m, n})));
    }
    test.Attribute("transA", int64_t{trans_a}).Attribute("transB", int64_t{trans_b});
    if (Chance(random, 0.4)) test.Attribute("alpha", 0.5f);
    if (Chance(random, 0.4)) test.Attribute("beta", Chance(random, 0.5) ? 0.25f : 0.0f);
    HarnessOptions options;
    options.relative_tolerance = 1e-5;
    ASSERT_TRUE(MatchesReference(test, options));
  }
}

}  // namespace
}  // namespace berth::testing
