#include <gtest/gtest.h>

#include "planner/frontend.h"
#include "planner/passes/fuse_elementwise.h"
#include "planner/passes/to_nhwc.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

Graph Fused(Graph graph) {
  EXPECT_TRUE(FuseElementwise(graph).ok());
  return graph;
}

ValueId Pointwise(TestGraph& t, ValueId x, int64_t channels) {
  return t.Apply(OpKind::kConv, {x, t.Weights({channels, t.graph.at(x).type.shape[1], 1, 1})});
}

TEST(FuseElementwise, ChainBecomesATail) {
  TestGraph t(1);
  ValueId y = Pointwise(t, t.Input({1, 3, 4, 4}), 5);
  y = t.Apply(OpKind::kAdd, {t.Weights({5, 1, 1}), y});
  y = t.Apply(OpKind::kSub, {t.Weights({1, 5, 4, 4}), y});
  y = t.Apply(OpKind::kSigmoid, {y});
  t.Output(y);
  const Graph after = Fused(t.graph);
  ASSERT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ASSERT_EQ(after.nodes[0].tail.size(), 3u);
  EXPECT_EQ(after.nodes[0].tail[0].flow_position, 1);
  ExpectSameResults(t.graph, after, 2);
}

TEST(FuseElementwise, ResidualAddGoesIntoTheLaterProducer) {
  TestGraph t(3);
  const ValueId x = t.Input({1, 3, 4, 4});
  const ValueId early = Pointwise(t, x, 3);
  const ValueId late = Pointwise(t, Pointwise(t, x, 4), 3);
  t.Output(t.Apply(OpKind::kRelu, {t.Apply(OpKind::kAdd, {late, early})}));
  const Graph after = Fused(t.graph);
  ASSERT_EQ(after.nodes.size(), 3u) << DumpGraph(after);
  EXPECT_EQ(after.nodes[2].name, "n2");
  EXPECT_EQ(after.nodes[2].tail.size(), 2u);
  ExpectSameResults(t.graph, after, 4);
}

TEST(FuseElementwise, WhatMustStay) {
  TestGraph t(5);
  const ValueId x = t.Input({1, 3, 4, 4});
  const ValueId output = Pointwise(t, x, 3);
  t.Output(output);
  t.Output(t.Apply(OpKind::kRelu, {output}));  // a graph output is stored as it is
  const ValueId twice = Pointwise(t, x, 3);
  t.Output(t.Apply(OpKind::kMul, {twice, twice}));  // read twice
  const ValueId grows = Pointwise(t, x, 1);
  t.Output(t.Apply(OpKind::kAdd, {grows, x}));  // the result is larger than the value
  const Graph after = Fused(t.graph);
  EXPECT_EQ(after.nodes.size(), t.graph.nodes.size()) << DumpGraph(after);
}

TEST(FuseElementwise, ProducersMoveToTheirConsumers) {
  TestGraph t(6);
  const ValueId x = t.Input({1, 3, 4, 4});
  const ValueId a = Pointwise(t, x, 3);
  const ValueId gate = t.Apply(OpKind::kReduceMean, {Pointwise(t, x, 3)},
                               {{"axes", Ints{2, 3}}, {"keepdims", int64_t{1}}});
  t.Output(t.Apply(OpKind::kMul, {a, t.Apply(OpKind::kSigmoid, {gate})}));
  const Graph after = Fused(t.graph);
  ExpectSameResults(t.graph, after, 7);
}

TEST(PrepareGraph, KeepsResultsAndInterface) {
  TestGraph t(8);
  const ValueId x = t.Input({1, 3, 9, 9});
  ValueId y = t.Apply(OpKind::kConv, {x, t.Weights({8, 3, 3, 3})});
  y = t.Apply(OpKind::kBatchNormalization,
              {y, t.Weights({8}), t.Weights({8}), t.Weights({8}), t.Weights({8}, 0.5, 2)});
  y = t.Apply(OpKind::kClip, {y, t.Filled({}, 0), t.Filled({}, 6)});
  const ValueId squeeze = t.Apply(OpKind::kGlobalAveragePool, {y});
  const ValueId gate = t.Apply(OpKind::kHardSigmoid, {Pointwise(t, squeeze, 8)});
  y = t.Apply(OpKind::kMul, {y, gate});
  y = t.Apply(OpKind::kPad, {y, t.Ints({0, 0, 1, 1, 0, 0, 1, 1})});
  y = t.Apply(OpKind::kConv, {y, t.Weights({8, 1, 3, 3})},
              {{"group", int64_t{8}}, {"strides", Ints{2, 2}}});
  t.Output(t.Apply(OpKind::kIdentity, {y}));
  const ValueId flat = t.Apply(OpKind::kFlatten, {y});
  t.Output(t.Apply(OpKind::kGemm, {flat, t.Weights({10, 128}), t.Weights({10})},
                   {{"transB", int64_t{1}}}));
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  std::vector<std::string> passes;
  options.dump = [&](std::string_view pass, const Graph&) { passes.emplace_back(pass); };
  const auto after = PrepareGraph(t.graph, options);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(passes.front(), "infer-and-fold");
  ASSERT_EQ(after->outputs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after->at(after->outputs[i]).name, t.graph.at(t.graph.outputs[i]).name);
    EXPECT_EQ(after->at(after->outputs[i]).type, t.graph.at(t.graph.outputs[i]).type);
  }
  EXPECT_EQ(CountOf(*after, OpKind::kPad), 0);
  EXPECT_EQ(CountOf(*after, OpKind::kMul), 1) << DumpGraph(*after);  // the gate, not the norm
  ExpectSameResults(t.graph, *after, 9);
}

}  // namespace
}  // namespace berth
