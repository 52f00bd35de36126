// Dynamic models: any shape in any order gives what the reference gives, programs are made once for
// a shape, and what is wrong with a request leaves the context as it was.
#include <gmock/gmock.h>

#include "runtime/bundle/bundle.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(ToStd(status.message())); }

TEST(Dynamic, ShapesInAnyOrderAndOnceEach) {
  const ModelBuilder model = DynamicNetwork(/*free_image=*/true);
  const auto program = MakeDynamicProgram(model);
  ASSERT_NE(program, nullptr);
  ASSERT_TRUE(program->is_dynamic());
  EXPECT_EQ(DescribeTensor(program->inputs()[0]), "float32[d0x3xd2xd3]");
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const std::vector<Shape> shapes = {{1, 3, 8, 8}, {3, 3, 5, 9}, {1, 3, 8, 8},
                                     {2, 3, 1, 1}, {3, 3, 5, 9}, {1, 3, 17, 4}};
  uint64_t seed = 1;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.ToString());
    RunAndCompare(*context, model, {UniformTensor(shape, seed++)});
  }
  const DynamicStatistics statistics = program->dynamic_statistics();
  EXPECT_EQ(statistics.specializations, 4);
  EXPECT_EQ(statistics.reused, 2);
  EXPECT_EQ(statistics.evicted, 0);
  EXPECT_GT(statistics.pool_peak_bytes, 0);
}

TEST(Dynamic, LeastRecentlyUsedGoesFirst) {
  const ModelBuilder model = DynamicNetwork(true);
  DynamicOptions options = TestDynamicOptions();
  const auto unlimited = MakeDynamicProgram(model, options);
  ASSERT_NE(unlimited, nullptr);
  ArenaPool pool;
  RunAndCompare(*ContextOf(unlimited, pool), model, {UniformTensor({1, 3, 8, 8}, 1)});
  // Room for two and a half of them.
  options.cache_bytes = unlimited->dynamic_statistics().cached_bytes * 5 / 2;
  const auto program = MakeDynamicProgram(model, options);
  const auto context = ContextOf(program, pool);
  for (const int64_t batch : {1, 2, 1, 3, 1, 2}) {  // 2 is given up for 3, 3 for 2
    RunAndCompare(*context, model, {UniformTensor({batch, 3, 8, 8}, 2)});
    EXPECT_LE(program->dynamic_statistics().cached_bytes, options.cache_bytes);
  }
  EXPECT_EQ(program->dynamic_statistics().specializations, 4);
  EXPECT_EQ(program->dynamic_statistics().reused, 2);
  EXPECT_EQ(program->dynamic_statistics().evicted, 2);
}

TEST(Dynamic, NothingIsKeptWithoutABudget) {
  const ModelBuilder model = DynamicNetwork(true);
  DynamicOptions options = TestDynamicOptions();
  options.cache_bytes = 0;
  const auto program = MakeDynamicProgram(model, options);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  for (int i = 0; i < 3; ++i) RunAndCompare(*context, model, {UniformTensor({1, 3, 8, 8}, 2)});
  EXPECT_EQ(program->dynamic_statistics().evicted, 3);
  EXPECT_EQ(program->dynamic_statistics().cached_bytes, 0);
}

// Two inputs that share a dimension.
ModelBuilder SumModel() {
  ModelBuilder b;
  b.Input("a", {-1, 4});
  b.Input("b", {-1, 4});
  b.Output("sum", {-1, 4});
  b.Node("Add", {"a", "b"}, {"sum"});
  return b;
}

TEST(Dynamic, WrongShapesAreNamedAndLeaveTheContextUsable) {
  const ModelBuilder model = SumModel();
  const auto program = MakeDynamicProgram(model);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const auto fails_with = [&](const std::vector<Tensor>& inputs, const std::string& part) {
    const absl::Status status = RunOnly(*context, inputs);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(part));
    RunAndCompare(*context, model, {UniformTensor({2, 4}, 1), UniformTensor({2, 4}, 2)});
  };
  fails_with({UniformTensor({2, 4}, 1), UniformTensor({3, 4}, 1)}, "'d0' is 2");
  fails_with({UniformTensor({2, 4}, 1), UniformTensor({2, 5}, 1)}, "the model fixes it to 4");
  fails_with({UniformTensor({0, 4}, 1), UniformTensor({0, 4}, 1)}, "(d0) is 0");
  fails_with({UniformTensor({2, 4, 1}, 1), UniformTensor({2, 4}, 1)}, "rank 3");
  fails_with({UniformTensor({2, 4}, 1)}, "1 inputs given");
  fails_with({UniformTensor({2, 4}, 1), Int64s({1, 2})}, "int64");
}

TEST(Dynamic, ShapesThatTheModelCannotTake) {
  const ModelBuilder model = [] {
    ModelBuilder b;
    b.Input("x", {1, 1, -1, -1});
    b.Output("y", {1, 1, -1, -1});
    b.Floats("w", {1, 1, 5, 5}, std::vector<float>(25, 0.1f));
    b.Node("Conv", {"x", "w"}, {"y"}, "big");
    return b;
  }();
  const auto program = MakeDynamicProgram(model);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const absl::Status status = RunOnly(*context, {UniformTensor({1, 1, 4, 9}, 1)});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("'big'"));
  RunAndCompare(*context, model, {UniformTensor({1, 1, 5, 9}, 1)});
}

// x[start:end] along its first axis, doubled: shapes hang on values that are inputs.
ModelBuilder SliceModel() {
  ModelBuilder b;
  b.Input("x", {-1, -1});
  b.Input("ends", {1}, onnx::TensorProto::INT64);
  b.Output("y", {-1, -1});
  auto& starts = b.Initializer("starts", onnx::TensorProto::INT64, {1});
  starts.add_int64_data(1);
  b.Node("Relu", {"x"}, {"r"});
  b.Node("Slice", {"r", "starts", "ends"}, {"part"});
  b.Node("Add", {"part", "part"}, {"y"});
  return b;
}

void CompareSlices(Context& context, int64_t rows, int64_t columns, int64_t end) {
  const std::vector<Tensor> inputs = {UniformTensor({rows, columns}, 3), Int64s({end})};
  std::vector<ConstTensorView> views = {inputs[0].view(), inputs[1].view()};
  std::vector<Tensor> outputs;
  const absl::Status status = context.Run(views, outputs);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(outputs[0].shape(), (Shape{end - 1, columns}));
  const auto x = std::as_const(inputs[0]).Values<float>();
  const auto y = std::as_const(outputs[0]).Values<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i], 2 * std::max(x[i + static_cast<size_t>(columns)], 0.0f)) << i;
  }
}

TEST(Dynamic, ShapesThatHangOnValues) {
  const auto program = MakeDynamicProgram(SliceModel());
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  // Few elements are sliced on the host, many by a program for these very bounds.
  for (const int64_t columns : {4, 2000}) {
    for (const int64_t end : {3, 9, 3}) CompareSlices(*context, 12, columns, end);
  }
  const int64_t made = program->dynamic_statistics().specializations;
  CompareSlices(*context, 12, 4, 7);                                   // another value, the host's
  EXPECT_EQ(program->dynamic_statistics().specializations, made + 1);  // what is behind it
  CompareSlices(*context, 12, 2000, 9);
  EXPECT_EQ(program->dynamic_statistics().specializations, made + 1);
}

TEST(Dynamic, LimitsOfStepsAndMemory) {
  const ModelBuilder model = SliceModel();
  DynamicOptions options = TestDynamicOptions();
  options.step_limit = 2;
  ArenaPool pool;
  const auto steps = ContextOf(MakeDynamicProgram(model, options), pool);
  absl::Status status = RunOnly(*steps, {UniformTensor({4, 4}, 1), Int64s({3})});
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("more than 2 steps"));

  options = TestDynamicOptions();
  options.pool_limit_bytes = 1 << 20;
  const auto memory = ContextOf(MakeDynamicProgram(model, options), pool);
  // What is sliced stands in the pool, the result does not.
  const auto slice = [&](int64_t rows) {
    return RunOnly(*memory, {UniformTensor({rows, 4}, 1), Int64s({3})});
  };
  status = slice(100000);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(slice(100).ok());
}

TEST(Dynamic, CancelIsSeenAndLeavesTheContextUsable) {
  const ModelBuilder model = SumModel();
  ArenaPool pool;
  const auto context = ContextOf(MakeDynamicProgram(model), pool);
  const std::vector<Tensor> inputs = {UniformTensor({2, 4}, 1), UniformTensor({2, 4}, 2)};
  context->Cancel();
  EXPECT_TRUE(absl::IsCancelled(RunOnly(*context, inputs)));
  RunAndCompare(*context, model, inputs);
}

TEST(Dynamic, CallersBuffersHaveTheTypesThatComeOut) {
  ArenaPool pool;
  const auto context = ContextOf(MakeDynamicProgram(SumModel()), pool);
  const Tensor a = UniformTensor({2, 4}, 1);
  const std::vector<ConstTensorView> inputs = {a.view(), a.view()};
  Tensor fits(TensorType{DType::kFloat32, {2, 4}}), other(TensorType{DType::kFloat32, {3, 4}});
  const std::vector<TensorView> into_fits = {fits.view()}, into_other = {other.view()};
  EXPECT_TRUE(context->Run(inputs, into_fits).ok());
  EXPECT_EQ(fits.Values<float>()[5], 2 * a.Values<float>()[5]);
  EXPECT_TRUE(absl::IsInvalidArgument(context->Run(inputs, into_other)));
}

TEST(Dynamic, CyclesAddUp) {
  ArenaPool pool;
  const auto context = ContextOf(MakeDynamicProgram(SliceModel()), pool);
  const std::vector<Tensor> inputs = {UniformTensor({12, 4}, 3), Int64s({5})};
  RunOptions options;
  options.mode = RunMode::kBoth;
  SimReport report;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(context->Run({inputs[0].view(), inputs[1].view()}, outputs, options, &report).ok());
  EXPECT_GT(report.makespan_cycles, 0);
  for (const EngineReport& engine : report.engines) {
    int64_t sum = engine.busy_cycles + engine.idle_cycles;
    for (const int64_t stall : engine.stall_cycles) sum += stall;
    EXPECT_EQ(sum, report.makespan_cycles) << EngineName(engine.engine);
  }
}

TEST(Dynamic, HotShapesArePlanned) {
  const ModelBuilder model = DynamicNetwork(true);
  DynamicOptions options = TestDynamicOptions();
  options.plan = MakeFullLowering(EvaluateNode);
  options.hot_runs = 2;
  const auto program = MakeDynamicProgram(model, options);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const std::vector<Tensor> inputs = {UniformTensor({1, 3, 8, 8}, 2)};
  RunAndCompare(*context, model, inputs);
  program->WaitForPlans();
  EXPECT_EQ(program->dynamic_statistics().planned, 0);
  RunAndCompare(*context, model, inputs);
  program->WaitForPlans();
  EXPECT_EQ(program->dynamic_statistics().planned, 1);
  RunAndCompare(*context, model, inputs);
  EXPECT_EQ(program->dynamic_statistics().specializations, 1);
}

TEST(Dynamic, MoreThanTheTargetHoldsIsRefusedAtOnce) {
  ModelBuilder b;
  b.Input("x", {1, 1});
  b.Input("target", {2}, onnx::TensorProto::INT64);
  b.Output("y", {-1, -1});
  b.Node("Expand", {"x", "target"}, {"y"});
  ArenaPool pool;
  const auto context = ContextOf(MakeDynamicProgram(b), pool);
  const Tensor x = UniformTensor({1, 1}, 1);
  const absl::Status status = RunOnly(*context, {x, Int64s({1'000'000, 1'000'000})});
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("'y' is float32[1000000x1000000], 4000000000000 bytes"));
  EXPECT_TRUE(RunOnly(*context, {x, Int64s({3, 5})}).ok());
}

// total' = total + mean over the rows of x: a state of a fixed shape beside a free batch; and a
// cache that grows by x in every run.
std::shared_ptr<const Program> StatefulProgram(bool with_initial) {
  ModelBuilder b;
  b.Input("x", {-1, 2});
  b.Input("total", {1, 2});
  b.Input("cache", {-1, 2});
  b.graph()
      .mutable_input(2)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("past");
  b.Output("next", {1, 2});
  b.Output("longer", {-1, 2});
  b.graph()
      .mutable_output(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("now");
  b.Output("y", {-1, 2});
  auto& mean = b.Node("ReduceMean", {"x"}, {"m"});
  SetInts(mean, "axes", {0});
  b.Node("Add", {"total", "m"}, {"next"});
  SetInt(b.Node("Concat", {"cache", "x"}, {"longer"}), "axis", 0);
  b.Node("Add", {"x", "total"}, {"y"});
  CompileOptions options = DynamicCompileOptions();
  options.states = {{"total", "next", std::nullopt}, {"cache", "longer", std::nullopt}};
  if (with_initial) options.states[1].initial = UniformTensor({1, 2}, 9);
  const ScratchFolder folder;
  auto contents = CompileModel(folder.Write("m.onnx", b.model), options);
  EXPECT_TRUE(contents.ok()) << contents.status();
  const std::string path = (folder.path() / "m.berth").string();
  EXPECT_TRUE(WriteBundle(path, *contents).ok());
  auto program = Program::Load(path, LoadLevel::kFull, TestDynamicOptions());
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : nullptr;
}

TEST(Dynamic, StatesStayAndMayGrow) {
  const auto program = StatefulProgram(/*with_initial=*/true);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->inputs().size(), 1u);
  ASSERT_EQ(program->outputs().size(), 1u);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const Tensor initial = UniformTensor({1, 2}, 9);
  for (int sequence = 0; sequence < 2; ++sequence) {
    std::vector<float> cache(initial.Values<float>().begin(), initial.Values<float>().end());
    float total = 0;
    for (const int64_t rows : {1, 3, 2, 3}) {
      const Tensor x = UniformTensor({rows, 2}, static_cast<uint64_t>(rows));
      std::vector<Tensor> outputs;
      const absl::Status status = context->Run({x.view()}, outputs);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(outputs[0].shape(), x.shape());
      EXPECT_NEAR(outputs[0].Values<float>()[1], x.Values<float>()[1] + total, 1e-5);
      float sum = 0;
      for (size_t i = 1; i < x.Values<float>().size(); i += 2) sum += x.Values<float>()[i];
      total += sum / static_cast<float>(rows);
      cache.insert(cache.end(), x.Values<float>().begin(), x.Values<float>().end());
      const ConstTensorView kept = context->state(1);
      ASSERT_EQ(kept.type.shape, (Shape{static_cast<int64_t>(cache.size()) / 2, 2}));
      EXPECT_TRUE(std::equal(cache.begin(), cache.end(), kept.Values<float>().begin()));
    }
    context->ResetState();
  }
  // A run that fails leaves them.
  const Tensor x = UniformTensor({2, 2}, 1);
  std::vector<Tensor> outputs;
  ASSERT_TRUE(context->Run({x.view()}, outputs).ok());
  context->Cancel();
  EXPECT_FALSE(context->Run({x.view()}, outputs).ok());
  EXPECT_EQ(context->state(1).type.shape, (Shape{3, 2}));
  ASSERT_TRUE(context->SetState(1, initial.view()).ok());
  EXPECT_EQ(context->state(1).type.shape, (Shape{1, 2}));
  EXPECT_TRUE(absl::IsInvalidArgument(context->SetState(1, UniformTensor({1, 3}, 1).view())));
}

TEST(Dynamic, StateThatNothingSizes) {
  ArenaPool pool;
  const auto context = ContextOf(StatefulProgram(/*with_initial=*/false), pool);
  const absl::Status status = RunOnly(*context, {UniformTensor({2, 2}, 1)});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("initial value"));
}

}  // namespace
}  // namespace berth
