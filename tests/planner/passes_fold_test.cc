#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/fold/fold_constants.h"
#include "planner/passes/eliminate_identities.h"
#include "planner/passes/expand_ops.h"
#include "planner/passes/fold_affine.h"
#include "planner/passes/fold_pad.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

TEST(FoldConstants, ShapeChainVanishesWithoutEvaluator) {
  TestGraph t;
  const ValueId x = t.Input({2, 3, 4});
  const ValueId shape = t.Apply(OpKind::kShape, {x});
  const ValueId batch = t.Apply(OpKind::kGather, {shape, t.Ints({0})}, {{"axis", int64_t{0}}});
  const ValueId target = t.Apply(OpKind::kConcat, {batch, t.Ints({-1})}, {{"axis", int64_t{0}}});
  // The types after this point are known only when the chain is folded.
  Node reshape;
  reshape.kind = OpKind::kReshape;
  reshape.name = "reshape";
  reshape.opset = kRewriteOpset;
  reshape.inputs = {x, target};
  reshape.outputs = {t.graph.AddValue("y", TensorType{})};
  t.graph.nodes.push_back(reshape);
  t.Output(reshape.outputs[0]);
  const absl::Status status = FoldConstants(t.graph, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(t.graph.nodes.size(), 1u);
  EXPECT_EQ(t.graph.at(t.graph.outputs[0]).type.shape, (Shape{2, 12}));
}

TEST(FoldConstants, EvaluatorFoldsArithmetic) {
  TestGraph t;
  const ValueId x = t.Input({4});
  const ValueId sum = t.Apply(OpKind::kAdd, {t.Weights({4}), t.Weights({4})});
  const ValueId root = t.Apply(OpKind::kTanh, {sum});
  t.Output(t.Apply(OpKind::kMul, {x, root}));
  Graph folded = t.graph;
  ASSERT_TRUE(FoldConstants(folded, EvaluateNode).ok());
  EXPECT_EQ(folded.nodes.size(), 1u);
  ExpectSameResults(t.graph, folded, 3, 0);
}

TEST(FoldConstants, BroadcastsAreNotWrittenOut) {
  TestGraph t;
  const ValueId x = t.Input({1024, 1024});
  const ValueId big = t.Apply(OpKind::kExpand, {t.Weights({1, 1024}), t.Ints({1024, 1024})});
  t.Output(t.Apply(OpKind::kAdd, {x, big}));
  ASSERT_TRUE(FoldConstants(t.graph, EvaluateNode).ok());
  EXPECT_EQ(CountOf(t.graph, OpKind::kExpand), 1);
  TestGraph filled;
  const ValueId y = filled.Input({1024, 1024});
  const ValueId ones = filled.Apply(OpKind::kConstantOfShape, {filled.Ints({1024, 1024})});
  filled.Output(filled.Apply(OpKind::kAdd, {y, ones}));
  FoldOptions small;
  small.filled_limit_bytes = 1 << 20;
  Graph kept = filled.graph;
  ASSERT_TRUE(FoldConstants(kept, nullptr, small).ok());
  EXPECT_EQ(kept.nodes.size(), 2u);
  ASSERT_TRUE(FoldConstants(filled.graph, nullptr).ok());
  EXPECT_EQ(filled.graph.nodes.size(), 1u);
}

TEST(FoldConstants, DeclaredTypesAreChecked) {
  TestGraph t;
  const ValueId x = t.Input({4});
  const ValueId y = t.Apply(OpKind::kRelu, {x});
  t.Output(y);
  Value& value = t.graph.at(y);
  value.shape_known = false;
  value.rank_declared = true;
  value.declared = {Dim{5, ""}};
  const absl::Status status = FoldConstants(t.graph, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("Relu 'n0'"));
}

TEST(FoldConstants, DivisionByZeroInAShapeIsNotFolded) {
  TestGraph t;
  const ValueId x = t.Input({4});
  const ValueId quotient = t.Apply(OpKind::kDiv, {t.Ints({4}), t.Ints({0})});
  t.Output(t.Apply(OpKind::kCast, {quotient}, {{"to", int64_t{1}}}));
  t.Output(t.Apply(OpKind::kRelu, {x}));
  ASSERT_TRUE(FoldConstants(t.graph, nullptr).ok());
  EXPECT_EQ(CountOf(t.graph, OpKind::kDiv), 1);
}

TEST(EliminateIdentities, NodesThatGiveBackTheirInput) {
  TestGraph t;
  ValueId x = t.Input({1, 4, 5, 6});
  x = t.Apply(OpKind::kIdentity, {x});
  x = t.Apply(OpKind::kCast, {x}, {{"to", int64_t{1}}});
  x = t.Apply(OpKind::kTranspose, {x}, {{"perm", Ints{0, 1, 2, 3}}});
  x = t.Apply(OpKind::kReshape, {x, t.Ints({1, 4, -1, 6})});
  x = t.Apply(OpKind::kSlice, {x, t.Ints({0}), t.Ints({100}), t.Ints({2})});
  x = t.Apply(OpKind::kPad, {x, t.Ints({0, 0, 0, 0, 0, 0, 0, 0})});
  x = t.Apply(OpKind::kConcat, {x}, {{"axis", int64_t{1}}});
  x = t.Apply(OpKind::kSum, {x});
  x = t.Apply(OpKind::kExpand, {x, t.Ints({4, 5, 6})});
  x = t.Apply(OpKind::kRelu, {x});
  t.Output(t.Apply(OpKind::kIdentity, {x}));
  Graph after = t.graph;
  ASSERT_TRUE(EliminateIdentities(after).ok());
  EXPECT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 5, 0);
}

TEST(EliminateIdentities, NodesThatMoveElementsStay) {
  TestGraph t;
  const ValueId x = t.Input({3, 3});
  t.Output(t.Apply(OpKind::kTranspose, {x}));
  t.Output(t.Apply(OpKind::kSlice, {x, t.Ints({-1}), t.Ints({-100}), t.Ints({0}), t.Ints({-1})}));
  t.Output(t.Apply(OpKind::kPad, {x, t.Ints({1, 0, -1, 0})}));
  t.Output(t.Apply(OpKind::kSum, {x, x}));
  Graph after = t.graph;
  ASSERT_TRUE(EliminateIdentities(after).ok());
  EXPECT_EQ(after.nodes.size(), 4u) << DumpGraph(after);
}

TEST(MergeReshapes, ChainsBecomeOne) {
  TestGraph t;
  ValueId x = t.Input({2, 3, 4});
  x = t.Apply(OpKind::kReshape, {x, t.Ints({6, 4})});
  x = t.Apply(OpKind::kReshape, {x, t.Ints({0, 2, 2})});
  x = t.Apply(OpKind::kReshape, {x, t.Ints({-1, 6})});
  t.Output(x);
  Graph after = t.graph;
  ASSERT_TRUE(MergeReshapes(after).ok());
  EXPECT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 6, 0);
}

struct AffineCase {
  OpKind producer;
  int64_t group;
  bool transposed_weights;
};

class FoldAffineTest : public ::testing::TestWithParam<AffineCase> {};

TEST_P(FoldAffineTest, AllChannelArithmeticGoesIntoTheWeights) {
  const AffineCase param = GetParam();
  TestGraph t(7);
  ValueId y;
  Shape channels{6, 1, 1};
  if (param.producer == OpKind::kMatMul) {
    channels = Shape{6};
    const ValueId w = t.Weights(param.transposed_weights ? Shape{6, 4} : Shape{4, 6});
    y = t.Apply(OpKind::kMatMul, {t.Input({2, 3, 4}), w},
                {{"transB", int64_t{param.transposed_weights ? 1 : 0}}});
  } else if (param.producer == OpKind::kConv) {
    y = t.Apply(OpKind::kConv,
                {t.Input({2, 4, 5, 6}), t.Weights({6, 4 / param.group, 3, 3}), t.Weights({6})},
                {{"group", param.group}, {"pads", Ints{1, 1, 1, 1}}});
  } else {
    y = t.Apply(OpKind::kConvTranspose,
                {t.Input({2, 4, 5, 6}), t.Weights({4, 6 / param.group, 3, 3})},
                {{"group", param.group}, {"strides", Ints{2, 2}}});
  }
  y = t.Apply(OpKind::kMul, {t.Weights(channels), y});
  y = t.Apply(OpKind::kAdd, {y, t.Weights(channels)});
  y = t.Apply(OpKind::kSub, {y, t.Weights({1})});
  y = t.Apply(OpKind::kSub, {t.Weights(channels), y});
  y = t.Apply(OpKind::kDiv, {y, t.Weights(channels, 1, 2)});
  t.Output(y);
  Graph after = t.graph;
  ASSERT_TRUE(FoldAffine(after).ok());
  EXPECT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 8);
}

INSTANTIATE_TEST_SUITE_P(Producers, FoldAffineTest,
                         ::testing::Values(AffineCase{OpKind::kConv, 1, false},
                                           AffineCase{OpKind::kConv, 2, false},
                                           AffineCase{OpKind::kConvTranspose, 1, false},
                                           AffineCase{OpKind::kConvTranspose, 2, false},
                                           AffineCase{OpKind::kMatMul, 1, false},
                                           AffineCase{OpKind::kMatMul, 1, true}));

TEST(FoldAffine, BatchNormalizationAfterExpansion) {
  TestGraph t(9);
  ValueId y = t.Apply(OpKind::kConv, {t.Input({1, 3, 6, 6}), t.Weights({5, 3, 3, 3})});
  y = t.Apply(OpKind::kBatchNormalization,
              {y, t.Weights({5}), t.Weights({5}), t.Weights({5}), t.Weights({5}, 0.5, 2)});
  t.Output(t.Apply(OpKind::kRelu, {y}));
  Graph after = t.graph;
  ASSERT_TRUE(ExpandOps(after, ExpandScope::kAll).ok());
  ASSERT_TRUE(FoldAffine(after).ok());
  EXPECT_EQ(after.nodes.size(), 2u) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 10);
}

TEST(FoldAffine, LeavesWhatIsReadElsewhereOrVariesOverSpace) {
  TestGraph t(11);
  const ValueId x = t.Input({1, 3, 4, 4});
  const ValueId shared = t.Apply(OpKind::kConv, {x, t.Weights({2, 3, 1, 1})});
  t.Output(t.Apply(OpKind::kMul, {shared, t.Weights({2, 1, 1})}));
  t.Output(shared);
  const ValueId own = t.Apply(OpKind::kConv, {x, t.Weights({2, 3, 1, 1})});
  t.Output(t.Apply(OpKind::kAdd, {own, t.Weights({4, 4})}));
  Graph after = t.graph;
  ASSERT_TRUE(FoldAffine(after).ok());
  EXPECT_EQ(after.nodes.size(), t.graph.nodes.size());
}

TEST(FoldPad, IntoConvolutionAndPools) {
  for (const bool same : {false, true}) {
    TestGraph t(12);
    const ValueId x = t.Input({1, 3, 7, 8});
    const ValueId pads = t.Ints({0, 0, 1, 0, 0, 0, 2, 1});
    const ValueId padded = t.Apply(OpKind::kPad, {x, pads});
    if (same) {
      t.Output(t.Apply(OpKind::kConv, {padded, t.Weights({2, 3, 3, 3})},
                       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}));
    } else {
      t.Output(t.Apply(OpKind::kConv, {padded, t.Weights({2, 3, 3, 3})},
                       {{"pads", Ints{0, 1, 0, 1}}, {"strides", Ints{2, 1}}}));
    }
    const ValueId averaged = t.Apply(OpKind::kPad, {x, pads});
    t.Output(t.Apply(OpKind::kAveragePool, {averaged}, {{"kernel_shape", Ints{3, 3}}}));
    const ValueId relu = t.Apply(OpKind::kRelu, {x});
    const ValueId maxed = t.Apply(OpKind::kPad, {relu, pads});
    t.Output(t.Apply(OpKind::kMaxPool, {maxed}, {{"kernel_shape", Ints{3, 3}}}));
    Graph after = t.graph;
    ASSERT_TRUE(FoldPad(after).ok());
    EXPECT_EQ(CountOf(after, OpKind::kPad), 0) << DumpGraph(after);
    ExpectSameResults(t.graph, after, 13);
  }
}

TEST(FoldPad, NotWhereTheFillWouldCount) {
  TestGraph t(14);
  const ValueId x = t.Input({1, 3, 7, 8});
  const ValueId pads = t.Ints({0, 0, 1, 1, 0, 0, 1, 1});
  const ValueId one = t.Filled({}, 1.0f);
  t.Output(
      t.Apply(OpKind::kConv, {t.Apply(OpKind::kPad, {x, pads, one}), t.Weights({2, 3, 3, 3})}));
  t.Output(t.Apply(OpKind::kMaxPool, {t.Apply(OpKind::kPad, {x, pads})},
                   {{"kernel_shape", Ints{3, 3}}}));
  t.Output(
      t.Apply(OpKind::kConv, {t.Apply(OpKind::kPad, {x, pads}, {{"mode", std::string("edge")}}),
                              t.Weights({2, 3, 3, 3})}));
  t.Output(t.Apply(OpKind::kAveragePool, {t.Apply(OpKind::kPad, {x, pads})},
                   {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}));
  Graph after = t.graph;
  ASSERT_TRUE(FoldPad(after).ok());
  EXPECT_EQ(CountOf(after, OpKind::kPad), 4);
}

TEST(ExpandOps, CompositionsKeepTheirResults) {
  TestGraph t(15);
  const ValueId x = t.Input({2, 8, 4, 6});
  t.Output(t.Apply(OpKind::kGlobalAveragePool, {x}));
  t.Output(t.Apply(OpKind::kDepthToSpace, {x}, {{"blocksize", int64_t{2}}}));
  t.Output(t.Apply(OpKind::kSpaceToDepth, {x}, {{"blocksize", int64_t{2}}}));
  t.Output(t.Apply(OpKind::kLRN, {x}, {{"size", int64_t{3}}}));
  t.Output(t.Apply(OpKind::kFlatten, {x}));
  t.Output(t.Apply(OpKind::kSoftmax, {x}, {{"axis", int64_t{1}}}, 11));
  t.Output(t.Apply(OpKind::kAdd, {x, t.Weights({8})},
                   {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}}, 6));
  t.Output(t.Apply(OpKind::kGemm, {t.Input({3, 4}), t.Weights({5, 4}), t.Weights({3, 1})},
                   {{"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}}));
  Graph after = t.graph;
  ASSERT_TRUE(ExpandOps(after, ExpandScope::kAll).ok());
  for (const Node& node : after.nodes) {
    const NodeCall call(after, node);
    EXPECT_FALSE(NeedsExpansion(GetOpDef(node.kind), call.call())) << OpName(node.kind);
  }
  ExpectSameResults(t.graph, after, 16);
}

}  // namespace
}  // namespace berth
