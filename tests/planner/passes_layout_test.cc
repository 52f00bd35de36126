#include <gtest/gtest.h>

#include "planner/passes/absorb_transposes.h"
#include "planner/passes/expand_ops.h"
#include "planner/passes/hoist_elementwise.h"
#include "planner/passes/permutation.h"
#include "planner/passes/reshape_order.h"
#include "planner/passes/to_nhwc.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

Graph Laid(const Graph& graph) {
  Graph after = graph;
  const absl::Status status = ToNhwc(after);
  EXPECT_TRUE(status.ok()) << status;
  for (const Node& node : after.nodes) {
    const bool spatial = node.kind == OpKind::kConv || node.kind == OpKind::kMaxPool ||
                         node.kind == OpKind::kConvTranspose || node.kind == OpKind::kAveragePool;
    EXPECT_TRUE(!spatial || node.layout == DataLayout::kNhwc) << node.name;
  }
  return after;
}

ValueId Conv(TestGraph& t, ValueId x, int64_t out_channels, int64_t kernel = 3) {
  const int64_t in_channels = t.graph.at(x).type.shape[1];
  const int64_t pad = kernel / 2;
  return t.Apply(OpKind::kConv, {x, t.Weights({out_channels, in_channels, kernel, kernel})},
                 {{"pads", Ints{pad, pad, pad, pad}}});
}

TEST(PassThroughReshape, GroupsMayStandInAnyOrder) {
  // NCHW standing as NHWC, channels split in two.
  auto order = PassThroughReshape({2, 6, 4, 5}, {2, 3, 2, 4, 5}, {0, 2, 3, 1});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->from_order, (Permutation{0, 2, 3, 1}));
  EXPECT_EQ(order->to_order, (Permutation{0, 3, 4, 1, 2}));
  // Space merged: rows and columns stand together.
  order = PassThroughReshape({2, 6, 4, 5}, {2, 6, 20}, {0, 2, 3, 1});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->from_order, (Permutation{0, 2, 3, 1}));
  EXPECT_EQ(order->to_order, (Permutation{0, 2, 1}));
  // Channels and rows merged: they do not stand together.
  order = PassThroughReshape({2, 6, 4, 5}, {2, 24, 5}, {0, 2, 3, 1});
  ASSERT_TRUE(order);
  EXPECT_NE(order->from_order, (Permutation{0, 2, 3, 1}));
  // Extents of 1 are free.
  order = PassThroughReshape({2, 6, 1, 1}, {2, 6}, {0, 2, 3, 1});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->from_order, (Permutation{0, 2, 3, 1}));
  EXPECT_EQ(order->to_order, (Permutation{0, 1}));
}

TEST(Permuted, AgreesWithIndexing) {
  Tensor tensor(TensorType{DType::kFloat32, Shape{2, 3, 4}});
  for (int i = 0; i < 24; ++i)
    tensor.Values<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  const Tensor permuted = Permuted(tensor, {2, 0, 1});
  EXPECT_EQ(permuted.shape(), (Shape{4, 2, 3}));
  size_t at = 0;
  for (int c = 0; c < 4; ++c) {
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 3; ++b) {
        EXPECT_EQ(permuted.Values<float>()[at++], static_cast<float>(a * 12 + b * 4 + c));
      }
    }
  }
  EXPECT_EQ(Compose({2, 0, 1}, Inverse({2, 0, 1})), IdentityPermutation(3));
}

TEST(ToNhwc, ResidualNetworkTransposesAtItsEndsOnly) {
  TestGraph t(1);
  const ValueId x = t.Input({2, 3, 8, 8});
  const ValueId stem = t.Apply(OpKind::kRelu, {Conv(t, x, 8)});
  const ValueId pooled =
      t.Apply(OpKind::kMaxPool, {stem}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  ValueId y = t.Apply(OpKind::kRelu, {Conv(t, pooled, 8)});
  y = t.Apply(OpKind::kAdd, {Conv(t, y, 8), pooled});
  y = t.Apply(OpKind::kMul, {y, t.Weights({8, 1, 1})});
  y = t.Apply(OpKind::kConcat, {y, pooled}, {{"axis", int64_t{1}}});
  y = t.Apply(OpKind::kSlice, {y, t.Ints({1}), t.Ints({9}), t.Ints({1})});
  t.Output(y);
  const Graph after = Laid(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 2) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 2);
}

TEST(ToNhwc, ChannelsLastModelHasNoTranspose) {
  TestGraph t(3);
  const ValueId image = t.Input({1, 8, 8, 3});
  ValueId y = t.Apply(OpKind::kMul, {image, t.Weights({1, 1, 1, 3})});
  y = t.Apply(OpKind::kTranspose, {y}, {{"perm", Ints{0, 3, 1, 2}}});
  y = t.Apply(OpKind::kSigmoid, {Conv(t, y, 4)});
  t.Output(t.Apply(OpKind::kTranspose, {y}, {{"perm", Ints{0, 2, 3, 1}}}));
  const Graph after = Laid(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 4);
}

TEST(ToNhwc, DetectorHeadsAndClassifierNeedNone) {
  TestGraph t(5);
  const ValueId image = t.Input({1, 8, 8, 3});
  const ValueId x = t.Apply(OpKind::kTranspose, {image}, {{"perm", Ints{0, 3, 1, 2}}});
  const ValueId features = t.Apply(OpKind::kRelu, {Conv(t, x, 8)});
  ValueId head = t.Apply(OpKind::kTranspose, {Conv(t, features, 4)}, {{"perm", Ints{0, 2, 3, 1}}});
  head = t.Apply(OpKind::kReshape, {head, t.Ints({1, -1, 2})});
  t.Output(t.Apply(OpKind::kSoftmax, {head}, {{"axis", int64_t{-1}}}));
  const ValueId pooled =
      t.Apply(OpKind::kReduceMean, {features}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{1}}});
  const ValueId flat = t.Apply(OpKind::kReshape, {pooled, t.Ints({1, 8})});
  t.Output(t.Apply(OpKind::kMatMul, {flat, t.Weights({8, 5})}));
  const Graph after = Laid(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 6);
}

TEST(ToNhwc, ChannelShuffleIsOneTranspose) {
  TestGraph t(7);
  const ValueId image = t.Input({1, 6, 6, 3});
  ValueId y = t.Apply(OpKind::kTranspose, {image}, {{"perm", Ints{0, 3, 1, 2}}});
  y = Conv(t, y, 6);
  y = t.Apply(OpKind::kReshape, {y, t.Ints({1, 2, 3, 6, 6})});
  y = t.Apply(OpKind::kTranspose, {y}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  y = t.Apply(OpKind::kReshape, {y, t.Ints({1, 6, 6, 6})});
  y = Conv(t, y, 3);
  t.Output(t.Apply(OpKind::kTranspose, {y}, {{"perm", Ints{0, 2, 3, 1}}}));
  const Graph after = Laid(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 1) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 8);
}

TEST(ToNhwc, TransposedOperandsOfAProduct) {
  TestGraph t(9);
  const ValueId k = t.Input({2, 5, 4});
  const ValueId transposed = t.Apply(OpKind::kTranspose, {k}, {{"perm", Ints{0, 2, 1}}});
  t.Output(t.Apply(OpKind::kMatMul, {t.Input({2, 3, 4}), transposed}));
  const Graph after = Laid(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 10);
}

TEST(ToNhwc, WeightsThatAreNotConstant) {
  TestGraph t(11);
  const ValueId x = t.Input({1, 4, 5, 5});
  t.Output(t.Apply(OpKind::kConv, {x, t.Input({6, 2, 3, 3})}, {{"group", int64_t{2}}}));
  t.Output(t.Apply(OpKind::kConvTranspose, {x, t.Input({4, 3, 2, 2})}, {{"group", int64_t{2}}}));
  ExpectSameResults(t.graph, Laid(t.graph), 12);
}

TEST(ToNhwc, OneAndThreeSpatialAxes) {
  TestGraph t(13);
  const ValueId line = t.Apply(OpKind::kConv, {t.Input({2, 3, 9}), t.Weights({4, 3, 3})});
  t.Output(t.Apply(OpKind::kAdd, {line, t.Weights({4, 1})}));
  const ValueId cube =
      t.Apply(OpKind::kMaxPool, {t.Input({1, 2, 4, 4, 4})}, {{"kernel_shape", Ints{2, 2, 2}}});
  t.Output(cube);
  ExpectSameResults(t.graph, Laid(t.graph), 14);
}

TEST(AbsorbTransposes, FlattenedFeatures) {
  for (const bool transposed_weights : {false, true}) {
    TestGraph t(21);
    ValueId y = Conv(t, t.Input({2, 3, 4, 5}), 6);
    y = t.Apply(OpKind::kReshape, {y, t.Ints({2, 120})});
    t.Output(t.Apply(OpKind::kMatMul,
                     {y, t.Weights(transposed_weights ? Shape{7, 120} : Shape{120, 7})},
                     {{"transB", int64_t{transposed_weights}}}));
    Graph after = Laid(t.graph);
    EXPECT_EQ(CountOf(after, OpKind::kTranspose), 2);
    ASSERT_TRUE(AbsorbTransposes(after).ok());
    EXPECT_EQ(CountOf(after, OpKind::kTranspose), 1) << DumpGraph(after);
    ExpectSameResults(t.graph, after, 22);
  }
}

TEST(AbsorbTransposes, NotWhereRowsMove) {
  TestGraph t(23);
  ValueId y = t.Apply(OpKind::kTranspose, {t.Input({2, 3, 4})}, {{"perm", Ints{1, 0, 2}}});
  y = t.Apply(OpKind::kReshape, {y, t.Ints({3, 8})});
  t.Output(t.Apply(OpKind::kMatMul, {y, t.Weights({8, 2})}));
  Graph after = t.graph;
  ASSERT_TRUE(AbsorbTransposes(after).ok());
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 1);
}

TEST(HoistElementwise, ScalarArithmeticGoesBeforeReshapes) {
  TestGraph t(24);
  ValueId y = t.Apply(OpKind::kMatMul, {t.Input({4, 6}), t.Weights({6, 6})});
  y = t.Apply(OpKind::kReshape, {y, t.Ints({2, 2, 6})});
  y = t.Apply(OpKind::kSigmoid, {y});
  y = t.Apply(OpKind::kMul, {t.Filled({}, 3), y});
  const ValueId joined = t.Apply(OpKind::kReshape, {y, t.Ints({2, 12})});
  t.Output(t.Apply(OpKind::kAdd, {joined, t.Weights({12})}));
  Graph after = t.graph;
  ASSERT_TRUE(HoistElementwise(after).ok());
  ASSERT_EQ(after.nodes.size(), 6u);
  EXPECT_EQ(after.nodes[1].kind, OpKind::kSigmoid) << DumpGraph(after);
  EXPECT_EQ(after.nodes[2].kind, OpKind::kMul);
  EXPECT_EQ(after.nodes[5].kind, OpKind::kAdd);
  ExpectSameResults(t.graph, after, 25);
}

TEST(HoistElementwise, BeforeAConcatOfComputedValues) {
  TestGraph t(28);
  const ValueId x = t.Input({1, 3, 4, 5});
  ValueId y = t.Apply(OpKind::kConcat, {Conv(t, x, 2), Conv(t, x, 3)}, {{"axis", int64_t{1}}});
  t.Output(t.Apply(OpKind::kRelu, {y}));
  y = t.Apply(OpKind::kConcat, {x, Conv(t, x, 3)}, {{"axis", int64_t{1}}});
  t.Output(t.Apply(OpKind::kRelu, {y}));
  Graph after = t.graph;
  ASSERT_TRUE(HoistElementwise(after).ok());
  EXPECT_EQ(CountOf(after, OpKind::kRelu), 3) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 29);
}

TEST(ToNhwc, LrnNeedsNoTransposeOfItsOwn) {
  TestGraph t(26);
  ValueId y = t.Apply(OpKind::kLRN, {Conv(t, t.Input({2, 3, 4, 5}), 7)}, {{"size", int64_t{3}}});
  t.Output(Conv(t, y, 4));
  Graph after = Laid(t.graph);
  ASSERT_TRUE(ExpandOps(after, ExpandScope::kAll).ok());
  EXPECT_EQ(CountOf(after, OpKind::kTranspose), 2) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 27);
}

// A random op that takes a value of rank 4 and gives one.
ValueId RandomOp(TestGraph& t, ValueId x, const std::vector<ValueId>& earlier) {
  const Shape shape = t.graph.at(x).type.shape;
  switch (t.RandomInt(0, 13)) {
    case 0:
    case 1:
      return Conv(t, x, t.RandomInt(1, 5));
    case 2:
      return t.Apply(OpKind::kRelu, {x});
    case 3: {
      std::vector<int64_t> perm{0, 1, 2, 3};
      for (int i = 3; i > 0; --i)
        std::swap(perm[static_cast<size_t>(i)], perm[static_cast<size_t>(t.RandomInt(0, i))]);
      return t.Apply(OpKind::kTranspose, {x}, {{"perm", perm}});
    }
    case 4: {
      for (const ValueId other : earlier) {
        if (t.graph.at(other).type.shape == shape) return t.Apply(OpKind::kAdd, {x, other});
      }
      return t.Apply(OpKind::kMul, {x, x});
    }
    case 5: {
      const int axis = static_cast<int>(t.RandomInt(0, 3));
      for (const ValueId other : earlier) {
        Shape fitting = t.graph.at(other).type.shape;
        fitting[axis] = shape[axis];
        if (fitting == shape) {
          return t.Apply(OpKind::kConcat, {other, x}, {{"axis", int64_t{axis}}});
        }
      }
      return t.Apply(OpKind::kTanh, {x});
    }
    case 6:
      return t.Apply(OpKind::kSlice, {x, t.Ints({shape[2] - 1, 0}), t.Ints({-100, 2}),
                                      t.Ints({2, 1}), t.Ints({-1, 1})});
    case 7:
      return t.Apply(OpKind::kPad, {x, t.Ints({0, 1, 0, 2, 1, 0, 0, 0})});
    case 8:
      return t.Apply(OpKind::kReduceMax, {x},
                     {{"axes", Ints{t.RandomInt(0, 3)}}, {"keepdims", int64_t{1}}});
    case 9:
      return t.Apply(OpKind::kSoftmax, {x}, {{"axis", t.RandomInt(-4, 3)}});
    case 10:
      return t.Apply(OpKind::kReshape, {x, t.Ints({shape[0], shape[2], shape[1], shape[3]})});
    case 11: {
      // Split an axis off and join it elsewhere.
      const ValueId flat = t.Apply(OpKind::kReshape, {x, t.Ints({shape[0], shape[1], -1})});
      return t.Apply(OpKind::kReshape, {flat, t.Ints({shape[0], 1, shape[1], -1})});
    }
    case 12:
      return t.Apply(OpKind::kAdd, {x, t.Weights({shape[3]})});
    default: {
      const ValueId reduced = t.Apply(
          OpKind::kReduceMean, {x}, {{"axes", Ints{t.RandomInt(1, 3)}}, {"keepdims", int64_t{0}}});
      const Shape left = t.graph.at(reduced).type.shape;
      return t.Apply(OpKind::kReshape, {reduced, t.Ints({left[0], left[1], 1, left[2]})});
    }
  }
}

TEST(ToNhwc, RandomGraphsKeepTheirResults) {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    TestGraph t(seed);
    ValueId x =
        t.Input({t.RandomInt(1, 2), t.RandomInt(1, 4), t.RandomInt(1, 5), t.RandomInt(1, 5)});
    std::vector<ValueId> earlier{x};
    for (int step = 0; step < 12; ++step) {
      x = RandomOp(t, x, earlier);
      ASSERT_TRUE(t.graph.at(x).shape_known);
      if (t.graph.at(x).type.shape.ElementCount() > 4000) break;
      earlier.push_back(x);
    }
    t.Output(earlier[earlier.size() / 2]);
    t.Output(earlier.back());
    ExpectSameResults(t.graph, Laid(t.graph), seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth
