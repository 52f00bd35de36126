// Compiled programs come back from their text as they were.
#include <gtest/gtest.h>

#include "npu_sim/program_text.h"
#include "npu_sim/timing.h"
#include "tests/npu_sim/program_text_testing.h"
#include "tests/planner/small_network.h"

namespace berth {
namespace {

void ExpectSame(const BundleContents& contents) {
  ASSERT_FALSE(contents.program.commands.empty());
  EXPECT_EQ(testing_support::RoundTripDifference(contents.program), "");
  const auto again = ParseProgramText(DumpProgram(contents.program.view()));
  ASSERT_TRUE(again.ok()) << again.status();
  const auto before = SimulateTiming(contents.program.view(), contents.config);
  const auto after = SimulateTiming(again->view(), contents.config);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->makespan_cycles, after->makespan_cycles);
}

TEST(CompiledProgramText, InManyTiles) { ExpectSame(CompileSmallNetwork()); }

TEST(CompiledProgramText, WhatAllUnitsDo) {
  TestGraph g(11);
  const ValueId x = g.Input(Shape{4, 24});
  const ValueId squashed = g.Apply(OpKind::kSigmoid, {x});
  const ValueId mean = g.Apply(OpKind::kSoftmax, {squashed}, {{"axis", int64_t{-1}}});
  const ValueId turned =
      g.Apply(OpKind::kTranspose, {mean}, {{"perm", std::vector<int64_t>{1, 0}}});
  g.Output(g.Apply(OpKind::kMatMul, {turned, g.Weights(Shape{4, 6})}));
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.evaluator = EvaluateNode;
  const auto contents = CompileGraph(g.graph, options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ExpectSame(*contents);
}

}  // namespace
}  // namespace berth
