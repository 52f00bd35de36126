// Comparisons, logic, shifts, remainders and the newer elementwise functions on the machine against
// the plain reference.
#include <cmath>
#include <limits>

#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

struct PairSample {
  OpKind kind;
  std::vector<DType> dtypes;
};

const std::vector<DType> kOrdered = {DType::kFloat32, DType::kFloat16, DType::kFloat64,
                                     DType::kInt8,    DType::kInt64,   DType::kUInt64};
const std::vector<DType> kIntegers = {DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64};

const PairSample kPairs[] = {
    {OpKind::kLess, kOrdered},       {OpKind::kLessOrEqual, kOrdered},
    {OpKind::kGreater, kOrdered},    {OpKind::kGreaterOrEqual, kOrdered},
    {OpKind::kAnd, {DType::kBool}},  {OpKind::kOr, {DType::kBool}},
    {OpKind::kXor, {DType::kBool}},  {OpKind::kBitwiseAnd, kIntegers},
    {OpKind::kBitwiseOr, kIntegers}, {OpKind::kBitwiseXor, kIntegers},
    {OpKind::kMod, kIntegers},
};

TEST(Logic, PairsBroadcast) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const PairSample& sample : kPairs) {
      for (const DType dtype : sample.dtypes) {
        const Shape shape = RandomShape(random, 0, 4, 7);
        const Shape a = Chance(random, 0.5) ? shape : RandomBroadcastOf(random, shape);
        const Shape b = Chance(random, 0.5) ? shape : RandomBroadcastOf(random, shape);
        const double low = IsSigned(dtype) ? -4 : 0;
        OpCase test(sample.kind);
        test.Input(RandomTensor(random, dtype, a, low, 4));
        const Tensor second = RandomTensor(random, dtype, b, low, 4);
        Chance(random, 0.3) ? test.Constant(second) : test.Input(second);
        ASSERT_TRUE(MatchesEverywhere(test, 2 << 10))
            << OpName(sample.kind) << " " << DTypeName(dtype);
      }
    }
  }
}

TEST(Logic, OldComparisonsAlignAtAnAxis) {
  Random random(2);
  for (const OpKind kind : {OpKind::kLess, OpKind::kGreater, OpKind::kEqual}) {
    OpCase test(kind, 1);
    test.Attribute("broadcast", int64_t{1}).Attribute("axis", int64_t{1});
    test.Input(RandomTensor(random, DType::kInt32, Shape{3, 4, 5}))
        .Input(RandomTensor(random, DType::kInt32, Shape{4}));
    EXPECT_TRUE(MatchesEverywhere(test, 1 << 10)) << OpName(kind);
  }
}

TEST(Logic, RemaindersTakeTheSignAsked) {
  Random random(3);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32}) {
    OpCase test(OpKind::kMod, 13);
    test.Attribute("fmod", int64_t{1})
        .Input(RandomTensor(random, dtype, Shape{6, 35}, -40, 40))
        .Input(RandomTensor(random, dtype, Shape{35}, 3, 7));
    EXPECT_TRUE(MatchesEverywhere(test, 1 << 10)) << DTypeName(dtype);
  }
  OpCase reals(OpKind::kMod, 13);
  reals.Input(RandomTensor(random, DType::kFloat32, Shape{3})).SameAs(0);
  EXPECT_EQ(reals.Infer().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Logic, ShiftsOfEveryWidth) {
  Random random(4);
  for (const char* direction : {"LEFT", "RIGHT"}) {
    for (const DType dtype : {DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
      OpCase test(OpKind::kBitShift, 11);
      test.Attribute("direction", std::string(direction))
          .Input(RandomTensor(random, dtype, Shape{5, 31}, 0, 250))
          .Input(RandomTensor(random, dtype, Shape{31}, 0, 70));
      EXPECT_TRUE(MatchesEverywhere(test, 1 << 10)) << direction << DTypeName(dtype);
    }
  }
  OpCase nowhere(OpKind::kBitShift, 11);
  nowhere.Input(RandomTensor(random, DType::kUInt8, Shape{3})).SameAs(0);
  EXPECT_EQ(nowhere.Infer().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Logic, BitwiseNot) {
  Random random(5);
  for (const DType dtype : kIntegers) {
    OpCase test(OpKind::kBitwiseNot, 18);
    test.Input(RandomTensor(random, dtype, Shape{7, 19}, 0, 100));
    EXPECT_TRUE(MatchesEverywhere(test, 1 << 10)) << DTypeName(dtype);
  }
}

struct UnarySample {
  OpKind kind;
  double low, high;
  std::vector<std::pair<const char*, float>> attributes;
};

const UnarySample kFunctions[] = {
    {OpKind::kTan, -1.3, 1.3, {}},
    {OpKind::kAsin, -0.99, 0.99, {}},
    {OpKind::kAcos, -0.99, 0.99, {}},
    {OpKind::kAtan, -9, 9, {}},
    {OpKind::kSinh, -4, 4, {}},
    {OpKind::kCosh, -4, 4, {}},
    {OpKind::kAsinh, -9, 9, {}},
    {OpKind::kAcosh, 1.1, 9, {}},
    {OpKind::kAtanh, -0.95, 0.95, {}},
    {OpKind::kCelu, -4, 4, {{"alpha", 1.7f}}},
    {OpKind::kSelu, -4, 4, {}},
    {OpKind::kSelu, -4, 4, {{"alpha", 1.1f}, {"gamma", 2.0f}}},
    {OpKind::kSoftsign, -9, 9, {}},
    {OpKind::kMish, -9, 9, {}},
    {OpKind::kThresholdedRelu, -4, 4, {{"alpha", 0.75f}}},
    {OpKind::kShrink, -4, 4, {{"lambd", 1.5f}, {"bias", 0.5f}}},
};

TEST(Elementary, FunctionsMatchTheReference) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const UnarySample& sample : kFunctions) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
        OpCase test(sample.kind);
        for (const auto& [name, value] : sample.attributes) test.Attribute(name, value);
        test.Input(
            RandomTensor(random, dtype, RandomShape(random, 0, 4, 9), sample.low, sample.high));
        ASSERT_TRUE(MatchesEverywhere(test, 4 << 10)) << OpName(sample.kind) << DTypeName(dtype);
      }
    }
  }
}

TEST(Elementary, NumbersThatAreNone) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor x = MakeTensor<float>(DType::kFloat32, Shape{6}, {1, kInf, -kInf, NAN, 0, 1e30f});
  OpCase nan(OpKind::kIsNaN);
  nan.Input(x);
  EXPECT_TRUE(MatchesEverywhere(nan));
  for (const int64_t negative : {0, 1}) {
    for (const int64_t positive : {0, 1}) {
      OpCase test(OpKind::kIsInf);
      test.Attribute("detect_negative", negative).Attribute("detect_positive", positive).Input(x);
      EXPECT_TRUE(MatchesEverywhere(test)) << negative << positive;
    }
  }
}

TEST(Elementary, CastLike) {
  Random random(7);
  for (const DType to : {DType::kFloat16, DType::kInt64, DType::kBool, DType::kFloat32}) {
    OpCase test(OpKind::kCastLike, 15);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{4, 9}, -5, 5))
        .Input(RandomTensor(random, to, Shape{2}, 0, 1));
    EXPECT_TRUE(MatchesEverywhere(test)) << DTypeName(to);
  }
}

}  // namespace
}  // namespace berth::testing
