// A network of a few ops on a machine so small that it runs in many tiles through pairs of buffers.
#pragma once

#include <vector>

#include "planner/compile.h"
#include "tests/planner/graph_testing.h"

namespace berth {

// Two convolutions with a residual sum, a pool and a fully connected layer.
inline Graph SmallNetwork() {
  TestGraph g(7);
  using Ints = std::vector<int64_t>;
  const Ints around = {1, 1, 1, 1};
  const ValueId x = g.Input(Shape{1, 3, 12, 12});
  const ValueId first = g.Apply(
      OpKind::kRelu, {g.Apply(OpKind::kConv, {x, g.Weights(Shape{8, 3, 3, 3}), g.Weights(Shape{8})},
                              {{"pads", around}})});
  const ValueId second =
      g.Apply(OpKind::kConv, {first, g.Weights(Shape{8, 8, 3, 3}), g.Weights(Shape{8})},
              {{"pads", around}});
  const ValueId sum = g.Apply(OpKind::kRelu, {g.Apply(OpKind::kAdd, {second, first})});
  const ValueId pooled =
      g.Apply(OpKind::kMaxPool, {sum}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId flat = g.Apply(OpKind::kFlatten, {pooled});
  g.Output(g.Apply(OpKind::kGemm, {flat, g.Weights(Shape{288, 10}), g.Weights(Shape{10})}));
  return g.graph;
}

// The edge machine with little memory on the chip.
inline NpuConfig SmallMachine() {
  NpuConfig config = *LoadTarget("edge");
  config.name = "small";
  config.scratchpad.size_bytes = 8 << 10;
  config.accumulator.size_bytes = 2 << 10;
  return config;
}

inline CompileOptions SmallMachineOptions() {
  CompileOptions options;
  options.config = SmallMachine();
  options.evaluator = EvaluateNode;
  // Every value goes through the pool, so that there is much to look at.
  options.resident = options.stripes = false;
  return options;
}

inline BundleContents CompileSmallNetwork() {
  absl::StatusOr<BundleContents> contents = CompileGraph(SmallNetwork(), SmallMachineOptions());
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? *std::move(contents) : BundleContents();
}

}  // namespace berth
