// Elementwise ops on the machine against the plain reference: random shapes, dtypes, broadcasts.
#include <cmath>

#include "kernels/onnx_dtype.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

constexpr int kRounds = 12;

struct UnarySample {
  OpKind kind;
  double low, high;
  std::vector<std::pair<const char*, float>> attributes;
  double relative_tolerance = -1;
};

const UnarySample kUnarySamples[] = {
    {OpKind::kRelu, -2, 2, {}},
    {OpKind::kLeakyRelu, -2, 2, {{"alpha", 0.3f}}},
    {OpKind::kSigmoid, -20, 20, {}},
    {OpKind::kHardSigmoid, -4, 4, {{"alpha", 0.4f}, {"beta", 0.3f}}},
    {OpKind::kHardSwish, -6, 6, {}},
    {OpKind::kTanh, -4, 4, {}},
    {OpKind::kExp, -5, 3, {}},
    {OpKind::kLog, 0.01, 9, {}},
    {OpKind::kSqrt, 0, 9, {}},
    {OpKind::kNeg, -2, 2, {}},
    {OpKind::kAbs, -2, 2, {}},
    {OpKind::kErf, -3, 3, {}},
    {OpKind::kGelu, -4, 4, {}},
    {OpKind::kSoftplus, -30, 30, {}},
    {OpKind::kElu, -4, 2, {{"alpha", 1.5f}}},
    {OpKind::kClip, -4, 4, {{"min", -1.5f}, {"max", 2.5f}}},
};

TEST(Elementwise, UnaryFunctionsMatchTheReference) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const UnarySample& sample : kUnarySamples) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
        OpCase test(sample.kind, sample.kind == OpKind::kClip ? 6 : 17);
        for (const auto& [name, value] : sample.attributes) test.Attribute(name, value);
        test.Input(
            RandomTensor(random, dtype, RandomShape(random, 0, 5, 9), sample.low, sample.high));
        ASSERT_TRUE(MatchesEverywhere(test, 4 << 10)) << OpName(sample.kind);
      }
    }
  }
}

TEST(Elementwise, GeluByTanh) {
  Random random(3);
  OpCase test(OpKind::kGelu, 20);
  test.Attribute("approximate", std::string("tanh"))
      .Input(RandomTensor(random, DType::kFloat32, Shape{7, 33}, -4, 4));
  EXPECT_TRUE(MatchesEverywhere(test));
}

TEST(Elementwise, UnaryOnIntegersAndBool) {
  Random random(5);
  for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (const OpKind kind : {OpKind::kRelu, OpKind::kNeg, OpKind::kAbs}) {
      OpCase test(kind);
      test.Input(RandomTensor(random, dtype, Shape{5, 7, 11}, -200, 200));
      ASSERT_TRUE(MatchesEverywhere(test, 1 << 10)) << OpName(kind) << DTypeName(dtype);
    }
  }
  OpCase test(OpKind::kNot);
  test.Input(RandomTensor(random, DType::kBool, Shape{13, 17}));
  EXPECT_TRUE(MatchesEverywhere(test, 1 << 10));
}

const OpKind kArithmetic[] = {OpKind::kAdd, OpKind::kSub, OpKind::kMul,   OpKind::kDiv,
                              OpKind::kMax, OpKind::kMin, OpKind::kEqual, OpKind::kPow};

// Integers are small, exponents and divisors stay where both sides are defined.
Tensor SecondOperand(Random& random, OpKind kind, DType dtype, const Shape& shape) {
  if (kind == OpKind::kPow) return RandomTensor(random, dtype, shape, 0, 3);
  return RandomTensor(random, dtype, shape, kind == OpKind::kDiv ? 1 : -3, 3);
}

TEST(Elementwise, BinaryFunctionsBroadcast) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind : kArithmetic) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32,
                                DType::kInt64, DType::kUInt8, DType::kBFloat16}) {
        const Shape shape = RandomShape(random, 0, 5, 7);
        const Shape a = Chance(random, 0.5) ? shape : RandomBroadcastOf(random, shape);
        const Shape b = Chance(random, 0.5) ? shape : RandomBroadcastOf(random, shape);
        OpCase test(kind);
        Tensor first = RandomTensor(random, dtype, a, kind == OpKind::kPow ? 0.1 : -3, 3);
        Tensor second = SecondOperand(random, kind, dtype, b);
        Chance(random, 0.3) ? test.Constant(first) : test.Input(first);
        Chance(random, 0.3) ? test.Constant(second) : test.Input(second);
        ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << OpName(kind) << " " << DTypeName(dtype);
      }
    }
  }
}

TEST(Elementwise, ScalarConstantsBecomeParameters) {
  Random random(11);
  for (const OpKind kind : kArithmetic) {
    if (kind == OpKind::kEqual) continue;
    for (const float scalar : {1.0f, 2.0f, 0.5f, 3.0f}) {
      for (const bool scalar_first : {false, true}) {
        OpCase test(kind);
        const Tensor x = RandomTensor(random, DType::kFloat32, Shape{9, 31}, 0.5, 3);
        const Tensor c = MakeTensor<float>(DType::kFloat32, Shape{1}, {scalar});
        scalar_first ? test.Constant(c).Input(x) : test.Input(x).Constant(c);
        HarnessStats stats;
        ASSERT_TRUE(MatchesReference(test, {}, &stats)) << OpName(kind) << scalar;
        const bool exact =
            (kind != OpKind::kDiv && kind != OpKind::kPow) || (!scalar_first && scalar != 3.0f);
        if (exact) {
          EXPECT_EQ(stats.load_bytes, 9 * 31 * 4) << OpName(kind) << scalar;
        }
      }
    }
  }
}

TEST(Elementwise, OnlyTheNeededBoxOfABroadcastOperandIsLoadedOnce) {
  Random random(12);
  OpCase test(OpKind::kAdd);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{64, 8, 16}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{16}));
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 8 << 10}, &stats));
  EXPECT_EQ(stats.load_bytes, (64 * 8 * 16 + 16) * 4);
  EXPECT_EQ(stats.store_bytes, 64 * 8 * 16 * 4);
}

TEST(Elementwise, TheSameOperandTwiceIsLoadedOnce) {
  Random random(13);
  for (const OpKind kind : {OpKind::kMul, OpKind::kMax}) {
    OpCase test(kind);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{40, 40})).SameAs(0);
    HarnessStats stats;
    ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 4 << 10}, &stats));
    EXPECT_EQ(stats.load_bytes, 1600 * 4);
  }
  OpCase test(OpKind::kMax);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{40, 40}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{40, 40}))
      .SameAs(0);
  EXPECT_TRUE(MatchesEverywhere(test, 4 << 10));
}

TEST(Elementwise, VariadicOps) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind : {OpKind::kMax, OpKind::kMin, OpKind::kSum, OpKind::kMean}) {
      OpCase test(kind);
      const Shape shape = RandomShape(random, 1, 4, 8);
      const int64_t count = RandomInt(random, 1, 5);
      for (int64_t i = 0; i < count; ++i) {
        const Shape operand = Chance(random, 0.6) ? shape : RandomBroadcastOf(random, shape);
        test.Input(RandomTensor(random, DType::kFloat32, operand));
      }
      ASSERT_TRUE(MatchesEverywhere(test, 4 << 10)) << OpName(kind);
    }
  }
}

TEST(Elementwise, PowOfMixedDTypes) {
  Random random(14);
  const std::pair<DType, DType> pairs[] = {
      {DType::kFloat32, DType::kInt64}, {DType::kInt32, DType::kFloat32},
      {DType::kInt64, DType::kInt32},   {DType::kFloat32, DType::kUInt32},
      {DType::kInt64, DType::kFloat32}, {DType::kFloat16, DType::kFloat32}};
  for (const auto& [base, exponent] : pairs) {
    OpCase test(OpKind::kPow);
    test.Input(RandomTensor(random, base, Shape{6, 5}, 1, 4))
        .Input(RandomTensor(random, exponent, Shape{5}, 1, 3));
    ASSERT_TRUE(MatchesReference(test)) << DTypeName(base) << " " << DTypeName(exponent);
  }
  OpCase square(OpKind::kPow);
  square.Input(RandomTensor(random, DType::kFloat32, Shape{6, 5})).Constant(Int64Tensor({2}));
  EXPECT_TRUE(MatchesReference(square));
}

TEST(Elementwise, ClipWithInputs) {
  Random random(15);
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kInt8}) {
    for (int form = 0; form < 8; ++form) {
      OpCase test(OpKind::kClip);
      test.Input(RandomTensor(random, dtype, Shape{23, 19}, -20, 20));
      const bool known = form & 4;
      const auto bound = [&](bool given, double value) {
        if (!given) return (void)test.Absent();
        Tensor scalar = RandomTensor(random, dtype, Shape{}, value, value);
        known ? test.Constant(scalar) : test.Input(scalar);
      };
      bound(form & 1, -7);
      bound(form & 2, 9);
      ASSERT_TRUE(MatchesEverywhere(test, 1 << 10)) << DTypeName(dtype) << " form " << form;
    }
  }
}

TEST(Elementwise, ClipWithCrossedBoundsTakesTheUpper) {
  Random random(16);
  OpCase test(OpKind::kClip);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{50}))
      .Constant(ScalarF32(1))
      .Constant(ScalarF32(-1));
  EXPECT_TRUE(MatchesReference(test));
}

TEST(Elementwise, WhereBroadcasts) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kUInt8, DType::kBool}) {
      const Shape shape = RandomShape(random, 0, 5, 6);
      OpCase test(OpKind::kWhere);
      test.Input(RandomTensor(random, DType::kBool, RandomBroadcastOf(random, shape)))
          .Input(RandomTensor(random, dtype, RandomBroadcastOf(random, shape), -90, 90))
          .Input(RandomTensor(random, dtype, shape, -90, 90));
      ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << DTypeName(dtype);
    }
  }
}

TEST(Elementwise, CastBetweenAllDTypes) {
  Random random(17);
  for (int from = 1; from < kDTypeCount; ++from) {
    for (int to = 1; to < kDTypeCount; ++to) {
      OpCase test(OpKind::kCast);
      test.Attribute("to", DTypeToOnnx(static_cast<DType>(to)))
          .Input(RandomTensor(random, static_cast<DType>(from), Shape{3, 41}, 0, 100));
      ASSERT_TRUE(MatchesEverywhere(test, 1 << 10)) << test.Describe();
    }
  }
}

TEST(Elementwise, PReluSlopes) {
  Random random(18);
  for (const Shape& slope : {Shape{6, 1, 1}, Shape{1}, Shape{5}, Shape{2, 6, 4, 5}}) {
    for (const bool known : {false, true}) {
      OpCase test(OpKind::kPRelu);
      test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 6, 4, 5}));
      const Tensor tensor = RandomTensor(random, DType::kFloat32, slope);
      known ? test.Constant(tensor) : test.Input(tensor);
      ASSERT_TRUE(MatchesEverywhere(test, 1 << 10)) << slope.ToString();
    }
  }
}

TEST(Elementwise, OldVersionsBroadcastAlongAnAxis) {
  Random random(19);
  OpCase add(OpKind::kAdd, 6);
  add.Attribute("broadcast", int64_t{1})
      .Attribute("axis", int64_t{1})
      .Input(RandomTensor(random, DType::kFloat32, Shape{2, 3, 4, 5}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}));
  EXPECT_TRUE(MatchesReference(add));
  OpCase slope(OpKind::kPRelu, 6);
  slope.Input(RandomTensor(random, DType::kFloat32, Shape{2, 5, 4, 5}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{5}));
  EXPECT_TRUE(MatchesReference(slope));
  OpCase differing(OpKind::kAdd, 6);
  differing.Input(RandomTensor(random, DType::kFloat32, Shape{2, 3}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{3}));
  EXPECT_EQ(differing.Infer().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Elementwise, EmptyTensorsLowerToNothing) {
  OpCase test(OpKind::kAdd);
  test.Input(Tensor(TensorType{DType::kFloat32, Shape{3, 0}}))
      .Input(Tensor(TensorType{DType::kFloat32, Shape{3, 1}}));
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {}, &stats));
  EXPECT_EQ(stats.commands, 0);
}

TEST(Elementwise, ManyAxesTakeSeveralCommands) {
  Random random(20);
  OpCase test(OpKind::kAdd);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 3, 2, 3, 2, 3, 2, 3}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{2, 1, 2, 1, 2, 1, 2, 1}));
  EXPECT_TRUE(MatchesEverywhere(test, 2 << 10));
}

}  // namespace
}  // namespace berth::testing
