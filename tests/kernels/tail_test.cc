// Fused tails: any elementwise op at the end of another, on the machine against the reference.
#include "kernels/tail.h"

#include "kernels/onnx_dtype.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

Attributes AlphaOf(float alpha) {
  Attributes attributes;
  attributes.Set("alpha", alpha);
  return attributes;
}

Tensor RandomOperand(Random& random, const Shape& shape) {
  const Shape operand = Chance(random, 0.5) ? shape : RandomBroadcastOf(random, shape);
  return RandomTensor(random, DType::kFloat32, operand, 0.5, 2);
}

// One random float op at the end of the tail.
void FuseRandom(Random& random, OpCase& test, const Shape& shape) {
  const bool known = Chance(random, 0.5);
  const int flow = static_cast<int>(RandomInt(random, 0, 1));
  switch (RandomInt(random, 0, 8)) {
    case 0:
      test.Fuse(OpKind::kRelu);
      break;
    case 1:
      test.Fuse(OpKind::kLeakyRelu, AlphaOf(0.2f));
      break;
    case 2:
      test.Fuse(OpKind::kSigmoid);
      break;
    case 3:
      test.Fuse(OpKind::kAdd, {}, {RandomOperand(random, shape)}, flow, known);
      break;
    case 4:
      test.Fuse(OpKind::kSub, {}, {RandomOperand(random, shape)}, flow, known);
      break;
    case 5:
      test.Fuse(OpKind::kMul, {}, {RandomOperand(random, shape)}, flow, known);
      break;
    case 6:
      test.Fuse(OpKind::kPRelu, {}, {RandomOperand(random, shape)}, 0, known);
      break;
    case 7:
      test.Fuse(OpKind::kClip, {}, {ScalarF32(-0.5f), ScalarF32(1.5f)}, 0, known);
      break;
    default:
      test.Fuse(OpKind::kMax, {}, {RandomOperand(random, shape), RandomOperand(random, shape)},
                2 * flow, known);
  }
}

TEST(Tail, RandomChainsOfFloatOps) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 4, 9);
    OpCase test(OpKind::kAbs);
    test.Input(RandomTensor(random, DType::kFloat32, shape));
    const int64_t length = RandomInt(random, 1, 4);
    for (int64_t i = 0; i < length; ++i) FuseRandom(random, test, shape);
    ASSERT_TRUE(MatchesEverywhere(test, 4 << 10));
  }
}

TEST(Tail, OpsThatChangeTheDType) {
  Random random(2);
  Attributes to_int;
  to_int.Set("to", DTypeToOnnx(DType::kInt32));
  OpCase test(OpKind::kMul);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{12, 9}, -9, 9))
      .Input(RandomTensor(random, DType::kFloat32, Shape{9}, -9, 9))
      .Fuse(OpKind::kCast, to_int, {}, 0, true, DType::kInt32)
      .Fuse(OpKind::kEqual, {}, {RandomTensor(random, DType::kInt32, Shape{9}, -9, 9)}, 1, false,
            DType::kBool)
      .Fuse(OpKind::kWhere, {},
            {RandomTensor(random, DType::kInt64, Shape{1, 9}, -99, 99),
             RandomTensor(random, DType::kInt64, Shape{12, 1}, -99, 99)},
            0, true, DType::kInt64);
  EXPECT_TRUE(MatchesEverywhere(test, 2 << 10));
}

TEST(Tail, OperandsThatStayAreLoadedOnce) {
  Random random(3);
  OpCase test(OpKind::kRelu);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{100, 16}))
      .Fuse(OpKind::kMul, {}, {RandomTensor(random, DType::kFloat32, Shape{16})});
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 2 << 10}, &stats));
  EXPECT_EQ(stats.load_bytes, (1600 + 16) * 4);
}

TEST(Tail, AtTheEndOfReductionsAndSoftmax) {
  Random random(4);
  for (const OpKind kind : {OpKind::kReduceMean, OpKind::kReduceMax, OpKind::kSoftmax}) {
    OpCase test(kind);
    const bool reduces = kind != OpKind::kSoftmax;
    test.Input(RandomTensor(random, DType::kFloat32, Shape{6, 50, 7}));
    if (reduces) test.Attribute("axes", std::vector<int64_t>{1});
    test.Attribute(reduces ? "keepdims" : "axis", int64_t{reduces ? 0 : 1});
    const Shape shape = reduces ? Shape{6, 7} : Shape{6, 50, 7};
    test.Fuse(OpKind::kAdd, {}, {RandomTensor(random, DType::kFloat32, Shape{7})}, 1, false)
        .Fuse(OpKind::kMul, {}, {RandomTensor(random, DType::kFloat32, shape)}, 0, false);
    ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << OpName(kind);
  }
}

TEST(Tail, TheMatrixUnitTakesOverAnActivation) {
  OpCase test(OpKind::kAbs);
  test.Input(Tensor(TensorType{DType::kFloat32, Shape{4}}))
      .Fuse(OpKind::kClip, {}, {ScalarF32(0), ScalarF32(6)});
  ASSERT_TRUE(test.Infer().ok());
  const AbsorbedTail clip = AbsorbActivation(test.graph(), test.node());
  EXPECT_EQ(clip.activation, Activation::kClip);
  EXPECT_EQ(clip.alpha, 0);
  EXPECT_EQ(clip.beta, 6);
  EXPECT_EQ(clip.ops, 1u);

  OpCase other(OpKind::kAbs);
  other.Input(Tensor(TensorType{DType::kFloat32, Shape{4}})).Fuse(OpKind::kTanh);
  ASSERT_TRUE(other.Infer().ok());
  EXPECT_EQ(AbsorbActivation(other.graph(), other.node()).ops, 0u);
}

}  // namespace
}  // namespace berth::testing
