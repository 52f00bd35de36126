// Small plans for the views of `berth inspect`.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/compile.h"
#include "tests/planner/model_builder.h"
#include "tools/inspect_plan.h"

namespace berth {

inline std::vector<float> RampOf(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13) / 13.0f;
  return values;
}

// The names of the values and ops that BranchedContents compiles.
struct BranchedNames {
  std::string image = "image", left = "left", right = "right", sum = "sum", squashed = "squashed";
};

// Two branches that meet in a sum, which is written over one of them; two values side by side in a
// third; a flattened view: every way in which values share bytes. `on_chip`: they need not stand in
// the pool.
inline BundleContents BranchedContents(const BranchedNames& names = {}, bool on_chip = false) {
  ModelBuilder builder(13, "branched");
  builder.Input(names.image, {1, 4, 12, 12});
  builder.Output("scores", {1, 6});
  const auto pool = [&](const std::string& from, const std::string& to) {
    onnx::NodeProto& node = builder.Node("MaxPool", {from}, {to}, to + "_node");
    SetInts(node, "kernel_shape", {3, 3});
    SetInts(node, "pads", {1, 1, 1, 1});
  };
  pool(names.image, names.left);
  pool(names.left, names.right);
  builder.Floats("mix", {4, 4, 1, 1}, RampOf(16));
  builder.Node("Conv", {names.right, "mix"}, {"mixed"}, "mixing");
  builder.Node("Add", {names.left, "mixed"}, {names.sum}, "add");
  pool(names.sum, "again");
  builder.Node("Sigmoid", {"again"}, {names.squashed}, "sigmoid");
  pool(names.squashed, "last");
  SetInt(builder.Node("Concat", {names.squashed, "last"}, {"both"}, "concat"), "axis", 1);
  pool("both", "wide");
  builder.Node("Flatten", {"wide"}, {"flat"}, "flatten");
  builder.Floats("weights", {8 * 12 * 12, 6}, RampOf(8 * 12 * 12 * 6));
  builder.Node("MatMul", {"flat", "weights"}, {"scores"}, "product");
  const ScratchFolder folder;
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.resident = options.stripes = on_chip;
  absl::StatusOr<BundleContents> contents =
      CompileModel(folder.Write("branched.onnx", builder.model), options);
  EXPECT_TRUE(contents.ok()) << contents.status();
  return *std::move(contents);
}

// Tables only: no commands.
inline BundleContents TablesOf(size_t op_count, std::vector<ValueInfo> values,
                               std::vector<Slot> slots) {
  BundleContents contents;
  contents.config = *LoadTarget("edge");
  contents.ops.resize(op_count);
  for (size_t i = 0; i < op_count; ++i) contents.ops[i].name = fmt::format("op{}", i);
  contents.program.regions.push_back({0, RegionKind::kConstants});
  contents.program.regions.push_back({1 << 20, RegionKind::kPool});
  contents.program.slots = std::move(slots);
  contents.conflicts.successor_begin = {0};
  contents.values = std::move(values);
  return contents;
}

inline InspectedPlan PlanOf(BundleContents contents) {
  absl::StatusOr<std::shared_ptr<const Bundle>> bundle =
      Bundle::FromContents(std::move(contents), LoadLevel::kTrusted);
  EXPECT_TRUE(bundle.ok()) << bundle.status();
  absl::StatusOr<InspectedPlan> plan = MakeInspectedPlan(*std::move(bundle));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

}  // namespace berth
