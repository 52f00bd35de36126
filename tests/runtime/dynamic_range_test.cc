// Ranges of free dimensions: what is outside is refused by name, the largest shape is planned, and
// both stand in the bundle.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/dynamic_model.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<BundleContents> CompileRanges(const ModelBuilder& model,
                                             const std::vector<DimRange>& ranges) {
  const ScratchFolder folder;
  CompileOptions options = DynamicCompileOptions();
  options.ranges = ranges;
  return CompileModel(folder.Write("m.onnx", model.model), options);
}

const std::vector<DimRange> kBounded = {{"d0", 1, 4}, {"d2", 2, 16}, {"d3", 5, 5}};

TEST(DynamicRange, SizesOutsideAreNamedAndLeaveTheContextUsable) {
  const ModelBuilder model = DynamicNetwork(/*free_image=*/true);
  auto contents = CompileRanges(model, {{"d0", 2, 4}, {"d2", 1, 9}});
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_FALSE(contents->dynamic->maximum.has_value());  // d3 has no range
  const auto program =
      Program::FromContents(*std::move(contents), LoadLevel::kFull, TestDynamicOptions());
  ASSERT_TRUE(program.ok()) << program.status();
  ArenaPool pool;
  const auto context = ContextOf(*program, pool);
  const auto fails_with = [&](const Shape& shape, const std::string& part) {
    const absl::Status status = RunOnly(*context, {UniformTensor(shape, 1)});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(part));
    RunAndCompare(*context, model, {UniformTensor({2, 3, 9, 30}, 1)});
  };
  fails_with({1, 3, 8, 8}, "dimension 0 of input 'image' (d0) is 1, compiled for 2 to 4");
  fails_with({5, 3, 8, 8}, "dimension 0 of input 'image' (d0) is 5, compiled for 2 to 4");
  fails_with({2, 3, 10, 8}, "dimension 2 of input 'image' (d2) is 10, compiled for 1 to 9");
  fails_with({0, 3, 8, 8}, "(d0) is 0, at least 1");
}

TEST(DynamicRange, LargestShapeIsPlannedAsWithItsShapePinned) {
  const ModelBuilder model = DynamicNetwork(true);
  const auto contents = CompileRanges(model, kBounded);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_TRUE(contents->dynamic->maximum.has_value());
  const MaximumPlan& largest = *contents->dynamic->maximum;
  EXPECT_EQ(largest.refusal, "");
  const ScratchFolder folder;
  CompileOptions options = DynamicCompileOptions();
  options.input_shapes["image"] = Shape{4, 3, 16, 5};
  const auto pinned = CompileModel(folder.Write("m.onnx", model.model), options);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  const auto program = Program::FromContents(*pinned, LoadLevel::kFull);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(largest.pool_bytes, (*program)->memory().pool_bytes);
  EXPECT_LE(largest.pool_lower_bound_bytes, largest.pool_bytes);
  const auto report = (*program)->Simulate();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(largest.makespan_cycles, report->makespan_cycles);
}

TEST(DynamicRange, LargestShapeThatHasNoPlanSaysWhy) {
  const auto too_large =
      CompileRanges(DynamicNetwork(true), {{"d0", 1, 1 << 20}, {"d2", 1, 999}, {"d3", 1, 999}});
  ASSERT_TRUE(too_large.ok()) << too_large.status();
  ASSERT_TRUE(too_large->dynamic->maximum.has_value());
  EXPECT_THAT(too_large->dynamic->maximum->refusal, HasSubstr("bytes of DRAM"));
  const auto no_shape = CompileRanges(
      DynamicNetwork(true), {{"d0", 1, kLargestExtent}, {"d2", 1, 9999}, {"d3", 1, 9999}});
  ASSERT_TRUE(no_shape.ok()) << no_shape.status();
  EXPECT_THAT(no_shape->dynamic->maximum->refusal, HasSubstr("input 'image'"));
}

// Nothing is lowered for it: the plan stands in the bundle, in memory as in the file.
TEST(DynamicRange, LargestShapeRunsByTheStoredPlan) {
  const ModelBuilder model = DynamicNetwork(true);
  const ScratchFolder folder;
  const std::string path = (folder.path() / "m.berth").string();
  auto contents = CompileRanges(model, kBounded);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  const int64_t cycles = contents->dynamic->maximum->makespan_cycles;
  DynamicOptions options = TestDynamicOptions();
  std::atomic<int> lowered{0};
  options.lower = [&lowered, lower = options.lower](Graph graph, const LoweringRequest& request) {
    ++lowered;
    return lower(std::move(graph), request);
  };
  options.plan = options.lower;
  options.hot_runs = 2;
  for (const LoadLevel level : {LoadLevel::kFull, LoadLevel::kTrusted}) {
    for (const auto& program :
         {Program::Load(path, level, options), Program::FromContents(*contents, level, options)}) {
      ASSERT_TRUE(program.ok()) << program.status();
      ArenaPool pool;
      const auto context = ContextOf(*program, pool);
      lowered = 0;
      for (int run = 0; run < 4; ++run) {
        RunAndCompare(*context, model, {UniformTensor({4, 3, 16, 5}, run)});
      }
      (*program)->WaitForPlans();
      EXPECT_EQ(lowered, 0);
      SimReport report;
      std::vector<Tensor> outputs;
      const Tensor input = UniformTensor({4, 3, 16, 5}, 1);
      RunOptions run;
      run.mode = RunMode::kCycles;
      ASSERT_TRUE(context->Run({{input.view()}}, outputs, run, &report).ok());
      EXPECT_EQ(report.makespan_cycles, cycles);
      RunAndCompare(*context, model, {UniformTensor({4, 3, 15, 5}, 1)});
      EXPECT_EQ(lowered, 1);
    }
  }
}

TEST(DynamicRange, WrongRangesAreRefused) {
  const auto fails_with = [](const std::vector<DimRange>& ranges, const std::string& part) {
    const absl::Status status = CompileRanges(DynamicNetwork(true), ranges).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(part));
  };
  fails_with({{"batch", 1, 8}},
             "'batch': no input has a free dimension of that name (there are "
             "d0, d2, d3)");
  fails_with({{"d0", 0, 8}}, "'d0': 0 to 8");
  fails_with({{"d0", 8, 7}}, "'d0': 8 to 7");
  fails_with({{"d0", 1, kLargestExtent + 1}}, "'d0': 1 to 2147483648");
  fails_with({{"d0", 1, 2}, {"d2", 1, 2}, {"d0", 1, 3}}, "'d0': given twice");
}

// Dimensions without a name in the model have one in the bundle.
TEST(DynamicRange, UnnamedDimensionsAreNamedApart) {
  ModelBuilder b;
  b.Input("a", {-1, 4});
  b.Input("b", {-1, 4});
  b.Output("sum", {-1, 4});
  b.Node("Add", {"a", "b"}, {"sum"});
  for (int i = 0; i < 2; ++i) {
    auto& shape = *b.graph().mutable_input(i)->mutable_type()->mutable_tensor_type();
    shape.mutable_shape()->mutable_dim(0)->clear_value();
  }
  const auto contents = CompileRanges(b, {{"b.d0", 1, 2}});
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_THAT(FreeDimNames(*contents->dynamic->graph), ElementsAre("d0", "b.d0"));
}

TEST(DynamicRange, StandsInTheFileAndIsCheckedThere) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "m.berth").string();
  auto contents = CompileRanges(DynamicNetwork(true), kBounded);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  const auto bundle = Bundle::Open(path, LoadLevel::kFull);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const DynamicModel& model = *(*bundle)->info().dynamic;
  ASSERT_EQ(model.ranges.size(), kBounded.size());
  for (size_t i = 0; i < kBounded.size(); ++i) {
    EXPECT_EQ(model.ranges[i].name, kBounded[i].name);
    EXPECT_EQ(model.ranges[i].low, kBounded[i].low);
    EXPECT_EQ(model.ranges[i].high, kBounded[i].high);
  }
  ASSERT_TRUE(model.maximum.has_value());
  EXPECT_EQ(model.maximum->pool_bytes, contents->dynamic->maximum->pool_bytes);
  EXPECT_EQ(model.maximum->makespan_cycles, contents->dynamic->maximum->makespan_cycles);

  const auto is_refused = [&](const std::string& part) {
    ASSERT_TRUE(WriteBundle(path, *contents).ok());
    const absl::Status status = Bundle::Open(path, LoadLevel::kFull).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(part));
  };
  DynamicModel& forged = *contents->dynamic;
  const std::optional<MaximumPlan> kept = forged.maximum;
  forged.ranges[0].low = 5;
  is_refused("'d0': 5 to 4");
  forged.ranges[0] = {"other", 1, 4};
  is_refused("'other': no input");
  forged.ranges[0] = kBounded[1];
  is_refused("'d2': given twice");
  forged.ranges = kBounded;
  forged.maximum->pool_lower_bound_bytes = forged.maximum->pool_bytes + 1;
  is_refused("maximum");
  forged.maximum = kept;
  const auto with_plan = [&](const std::function<void(BundleContents&)>& change) {
    auto plan = std::make_shared<BundleContents>(*kept->contents);
    change(*plan);
    forged.maximum->contents = std::move(plan);
  };
  with_plan([](BundleContents& plan) { plan.program.commands[0].engine = 99; });
  is_refused("the plan of the largest shape");
  with_plan([](BundleContents& plan) { plan.config.dram.size_bytes += 64; });
  is_refused("dynamic, maximum: planned for");
  with_plan([&](BundleContents& plan) { plan = *contents; });
  is_refused("a dynamic model where a static plan");
  with_plan([](BundleContents& plan) { plan.inputs[0].type.dtype = DType::kInt32; });
  is_refused("input 0 is int32, the model's float32");
  forged.maximum.reset();
  forged.outputs.resize(3);
  is_refused("3 outputs, the graph has 1");
}

}  // namespace
}  // namespace berth
