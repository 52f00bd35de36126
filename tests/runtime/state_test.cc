// States that a context keeps: they evolve over runs as one long computation does, belong to their
// context, and are as before after a run that does not end well.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "planner/states.h"
#include "tests/planner/model_builder.h"
#include "tests/planner/tflite_testing.h"
#include "tests/runtime/bundle_file.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

constexpr int64_t kBatch = 2, kInputs = 5, kCells = 12;

// One step of a recurrent network: next = tanh(x W + state R), y = next V.
struct Cell {
  explicit Cell(TestGraph& t)
      : w(t.Weights(Shape{kInputs, kCells})),
        r(t.Weights(Shape{kCells, kCells}, -0.4f, 0.4f)),
        v(t.Weights(Shape{kCells, 3})) {}
  ValueId Next(TestGraph& t, ValueId x, ValueId state) const {
    const ValueId sum = t.Apply(
        OpKind::kAdd, {t.Apply(OpKind::kMatMul, {x, w}), t.Apply(OpKind::kMatMul, {state, r})});
    return t.Apply(OpKind::kTanh, {sum});
  }
  ValueId w, r, v;
};

Graph StepGraph(std::optional<Tensor> initial = std::nullopt) {
  TestGraph t(21);
  const Cell cell(t);
  const ValueId x = t.Input(Shape{kBatch, kInputs});
  const ValueId state = t.Input(Shape{kBatch, kCells});
  t.graph.at(state).name = "before";
  const ValueId next = cell.Next(t, x, state);
  t.graph.at(next).name = "after";
  t.Output(next);
  t.Output(t.Apply(OpKind::kMatMul, {next, cell.v}));
  const absl::Status bound = BindStates({{"before", "after", std::move(initial)}}, t.graph);
  EXPECT_TRUE(bound.ok()) << bound;
  return t.graph;
}

// The same as one computation over `steps` inputs.
Graph UnrolledGraph(int steps) {
  TestGraph t(21);
  const Cell cell(t);
  ValueId state = t.Filled(Shape{kBatch, kCells}, 0.0f);
  for (int i = 0; i < steps; ++i) {
    state = cell.Next(t, t.Input(Shape{kBatch, kInputs}), state);
    t.Output(t.Apply(OpKind::kMatMul, {state, cell.v}));
  }
  return t.graph;
}

std::shared_ptr<const Program> StepProgram(std::optional<Tensor> initial = std::nullopt) {
  auto contents = CompileGraph(StepGraph(std::move(initial)), SmallMachineOptions());
  EXPECT_TRUE(contents.ok()) << contents.status();
  auto program = Program::FromContents(*std::move(contents));
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

// One run with inputs of this seed.
std::vector<std::byte> Step(Context& context, uint64_t seed) {
  RunBuffers buffers(context.program(), seed);
  const absl::Status status = context.Run(buffers.input_views, buffers.output_views);
  EXPECT_TRUE(status.ok()) << status;
  return buffers.OutputBytes();
}

std::vector<std::byte> BytesOf(const ConstTensorView& view) {
  return {view.data, view.data + view.type.ByteCount()};
}

TEST(State, TheCallerSeesNeitherInputNorOutput) {
  const auto program = StepProgram();
  ASSERT_EQ(program->inputs().size(), 1u);
  EXPECT_EQ(program->inputs()[0].type.shape, (Shape{kBatch, kInputs}));
  ASSERT_EQ(program->outputs().size(), 1u);
  EXPECT_EQ(program->outputs()[0].type.shape, (Shape{kBatch, 3}));
  ASSERT_EQ(program->states().size(), 1u);
  EXPECT_EQ(program->states()[0].name, "before");
  EXPECT_EQ(program->memory().state_bytes, 2 * 128);
}

TEST(State, RunsAreOneLongComputation) {
  constexpr int kSteps = 7;
  const auto program = StepProgram();
  ArenaPool pool;
  for (const int threads : {1, 2}) {
    ContextOptions options;
    options.threads = threads;
    options.poison_before_run = true;
    const auto context = MakeContext(program, pool, options);
    std::vector<Tensor> inputs;
    std::vector<std::vector<std::byte>> outputs;
    for (int i = 0; i < kSteps; ++i) {
      RunBuffers buffers(*program, 100 + i);
      inputs.push_back(buffers.inputs[0]);
      const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
      ASSERT_TRUE(status.ok()) << status;
      outputs.push_back(buffers.OutputBytes());
    }
    const auto expected = Interpret(UnrolledGraph(kSteps), inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (size_t i = 0; i < kSteps; ++i) {
      Tensor actual((*expected)[i].type());
      std::copy(outputs[i].begin(), outputs[i].end(), actual.bytes().begin());
      EXPECT_LE(RelativeError(actual, (*expected)[i]), 1e-5) << i;
    }
  }
}

TEST(State, AResetBeginsAnew) {
  const auto program = StepProgram();
  ArenaPool pool;
  const auto context = MakeContext(program, pool);
  const auto first = Step(*context, 1), second = Step(*context, 1);
  EXPECT_NE(first, second);
  context->ResetState();
  EXPECT_EQ(Step(*context, 1), first);
  EXPECT_EQ(Step(*context, 1), second);
  context->ResetState();
  context->ResetState();
  EXPECT_EQ(Step(*context, 1), first);
}

TEST(State, BelongsToItsContext) {
  const auto program = StepProgram();
  ArenaPool pool;
  std::vector<std::vector<std::byte>> alone;
  const auto reference = MakeContext(program, pool);
  for (int i = 0; i < 4; ++i) alone.push_back(Step(*reference, 5));
  const auto a = MakeContext(program, pool), b = MakeContext(program, pool);
  EXPECT_EQ(Step(*a, 5), alone[0]);
  EXPECT_EQ(Step(*a, 5), alone[1]);
  EXPECT_EQ(Step(*b, 5), alone[0]);
  EXPECT_EQ(Step(*a, 5), alone[2]);
  b->ResetState();
  EXPECT_EQ(Step(*b, 5), alone[0]);
  EXPECT_EQ(Step(*a, 5), alone[3]);
}

// An arena that another context has used before.
TEST(State, BeginsAnewInALeasedArena) {
  const auto program = StepProgram();
  ArenaPool pool;
  std::vector<std::byte> first;
  for (int i = 0; i < 3; ++i) {
    const auto context = MakeContext(program, pool);
    const auto result = Step(*context, 9);
    Step(*context, 10);
    if (i > 0) EXPECT_EQ(result, first);
    first = result;
  }
  EXPECT_EQ(pool.statistics().reuses, 2);
}

TEST(State, ARunThatIsStoppedLeavesIt) {
  const auto program = StepProgram();
  ArenaPool pool;
  const auto context = MakeContext(program, pool), reference = MakeContext(program, pool);
  EXPECT_EQ(Step(*context, 1), Step(*reference, 1));
  const auto before = BytesOf(context->state(0));
  RunBuffers buffers(*program, 2);
  context->Cancel();
  EXPECT_TRUE(absl::IsCancelled(context->Run(buffers.input_views, buffers.output_views)));
  EXPECT_EQ(BytesOf(context->state(0)), before);
  RunOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(context->Run(buffers.input_views, buffers.output_views, late)));
  EXPECT_FALSE(context->Run({}, buffers.output_views).ok());
  EXPECT_EQ(BytesOf(context->state(0)), before);
  EXPECT_EQ(Step(*context, 2), Step(*reference, 2));
}

// Cancelled at any moment: the state is that of the runs that ended well.
TEST(State, ARunThatIsStoppedHalfwayLeavesIt) {
  const auto program = StepProgram();
  ArenaPool pool;
  ContextOptions options;
  options.threads = 2;
  const auto context = MakeContext(program, pool, options);
  const auto reference = MakeContext(program, pool);
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      context->Cancel();
      std::this_thread::sleep_for(std::chrono::microseconds(37));
    }
  });
  int stopped = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    RunBuffers buffers(*program, i);
    const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
    if (status.ok()) {
      Step(*reference, i);
    } else {
      EXPECT_TRUE(absl::IsCancelled(status)) << status;
      ++stopped;
    }
    EXPECT_EQ(BytesOf(context->state(0)), BytesOf(reference->state(0))) << i;
  }
  done = true;
  canceller.join();
  EXPECT_GT(stopped, 0);
}

TEST(State, ARunForCyclesLeavesIt) {
  const auto program = StepProgram();
  ArenaPool pool;
  const auto context = MakeContext(program, pool);
  Step(*context, 1);
  const auto before = BytesOf(context->state(0));
  RunBuffers buffers(*program, 2);
  RunOptions options;
  options.mode = RunMode::kCycles;
  SimReport report;
  ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views, options, &report).ok());
  EXPECT_EQ(BytesOf(context->state(0)), before);
}

TEST(State, BeginsWithItsInitialValue) {
  const TensorType type{DType::kFloat32, Shape{kBatch, kCells}};
  for (const bool uniform : {true, false}) {
    Tensor initial(type);
    for (size_t i = 0; i < initial.Values<float>().size(); ++i) {
      initial.Values<float>()[i] = uniform ? 0.5f : 0.1f * static_cast<float>(i);
    }
    const auto program = StepProgram(initial);
    EXPECT_EQ(program->states()[0].initial.size(), uniform ? 4u : initial.bytes().size());
    ArenaPool pool;
    const auto context = MakeContext(program, pool);
    const std::vector<std::byte> bytes(initial.bytes().begin(), initial.bytes().end());
    EXPECT_EQ(BytesOf(context->state(0)), bytes);
    const auto first = Step(*context, 3);
    EXPECT_NE(BytesOf(context->state(0)), bytes);
    context->ResetState();
    EXPECT_EQ(Step(*context, 3), first);
    // A context of another initial value can be set to this one.
    const auto zeros = MakeContext(StepProgram(), pool);
    EXPECT_TRUE(zeros->SetState(0, initial.view()).ok());
    EXPECT_EQ(Step(*zeros, 3), first);
    EXPECT_TRUE(absl::IsInvalidArgument(zeros->SetState(1, initial.view())));
    EXPECT_TRUE(absl::IsInvalidArgument(
        zeros->SetState(0, Tensor(TensorType{DType::kFloat32, Shape{3}}).view())));
  }
}

TEST(State, StandsInTheBundle) {
  Tensor initial(TensorType{DType::kFloat32, Shape{kBatch, kCells}});
  for (float& value : initial.Values<float>()) value = -0.25f;
  const auto contents = CompileGraph(StepGraph(initial), SmallMachineOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  const ScratchFolder folder;
  const std::string path = (folder.path() / "state.berth").string();
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  const auto loaded = Program::Load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ArenaPool pool;
  const auto a = MakeContext(*loaded, pool), b = MakeContext(StepProgram(initial), pool);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Step(*a, i), Step(*b, i));
}

TEST(State, DamagedTablesAreRefused) {
  const auto good = CompileGraph(StepGraph(), SmallMachineOptions());
  ASSERT_TRUE(good.ok()) << good.status();
  const auto refused = [&](auto&& damage) {
    BundleContents contents = *good;
    damage(contents);
    for (const LoadLevel level : {LoadLevel::kFull, LoadLevel::kTrusted}) {
      const auto program = Program::FromContents(contents, level);
      EXPECT_TRUE(absl::IsDataLoss(program.status())) << program.status();
    }
  };
  refused([](BundleContents& c) { c.states[0].input = 2; });
  refused([](BundleContents& c) { c.states[0].output = 0xffffffffu; });
  refused([](BundleContents& c) { c.states[0].input = 0; });  // another type
  refused([](BundleContents& c) { c.states.push_back(c.states[0]); });
  refused([](BundleContents& c) { c.states[0].initial.resize(5); });
}

TEST(State, BindingsAreChecked) {
  const auto bind = [](const std::string& input, const std::string& output) {
    Graph graph = StepGraph();
    graph.states.clear();
    BERTH_RETURN_IF_ERROR(BindStates({{input, output, std::nullopt}}, graph));
    return CompileGraph(std::move(graph), SmallMachineOptions()).status();
  };
  EXPECT_TRUE(bind("before", "after").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(bind("nothing", "after")));
  EXPECT_TRUE(absl::IsInvalidArgument(bind("before", "nothing")));
  EXPECT_TRUE(absl::IsInvalidArgument(bind("in0", "after")));  // of another shape
  Graph graph = StepGraph();
  EXPECT_TRUE(absl::IsInvalidArgument(BindStates({{"before", "after", std::nullopt}}, graph)));
  Tensor initial(TensorType{DType::kFloat32, Shape{3}});
  EXPECT_TRUE(
      absl::IsInvalidArgument(CompileGraph(StepGraph(initial), SmallMachineOptions()).status()));
}

TEST(State, AFreshGraphHasNone) {
  Graph graph = StepGraph();
  StartFresh(graph);
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.outputs.size(), 1u);
  const auto contents = CompileGraph(graph, SmallMachineOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  ArenaPool pool;
  const auto fresh = MakeContext(*Program::FromContents(*contents), pool);
  const auto kept = MakeContext(StepProgram(), pool);
  RunBuffers buffers(kept->program(), 3), fresh_buffers(fresh->program(), 3);
  ASSERT_TRUE(kept->Run(buffers.input_views, buffers.output_views).ok());
  ASSERT_TRUE(fresh->Run(fresh_buffers.input_views, fresh_buffers.output_views).ok());
  EXPECT_LE(RelativeError(fresh_buffers.outputs[0], buffers.outputs[0]), 1e-5);
}

// A layer with a window of three runs: its state shifts by one each run.
std::string WriteSvdf(const std::vector<float>& features, const std::vector<float>& times) {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 3}});
  const int w = writer.Floats({2, 3}, features);
  const int t = writer.Floats({2, 3}, times);
  TestTensor memory{"memory", {1, 2 * 3}};
  memory.is_variable = true;
  const int state = writer.Value(memory);
  const int out = writer.Value({"y", {1, 2}});
  writer.Op(tfl::BuiltinOperator::SVDF, {in, w, t, -1, state}, {out},
            tfl::CreateSvdfOptions(writer.fbb(), 1, tfl::Activation::NONE));
  return writer.Finish({in}, {out});
}

TEST(State, OfATfliteModelIsKept) {
  std::mt19937_64 random(31);
  const std::vector<float> features = RandomFloats(6, random), times = RandomFloats(6, random);
  const TestFile file(WriteSvdf(features, times));
  CompileOptions options = SmallMachineOptions();
  auto contents = CompileModel(file.path(), options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  const auto program = Program::FromContents(*std::move(contents));
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ((*program)->states().size(), 1u);
  EXPECT_EQ((*program)->states()[0].name, "memory");
  ArenaPool pool;
  const auto context = MakeContext(*program, pool);
  std::vector<float> window(6, 0.0f);  // [feature][run]
  for (uint64_t run = 0; run < 6; ++run) {
    RunBuffers buffers(**program, run);
    ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
    for (size_t f = 0; f < 2; ++f) {
      window[f * 3] = window[f * 3 + 1];
      window[f * 3 + 1] = window[f * 3 + 2];
      window[f * 3 + 2] = 0;
      float expected = 0;
      for (size_t i = 0; i < 3; ++i) {
        window[f * 3 + 2] += features[f * 3 + i] * buffers.inputs[0].Values<float>()[i];
      }
      for (size_t i = 0; i < 3; ++i) expected += times[f * 3 + i] * window[f * 3 + i];
      EXPECT_NEAR(buffers.outputs[0].Values<float>()[f], expected, 1e-5) << run;
    }
  }
  options.state_mode = StateMode::kFresh;
  const auto fresh = CompileModel(file.path(), options);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->states.size(), 0u);
  EXPECT_EQ(fresh->inputs.size(), 1u);
  options.state_mode = StateMode::kExpose;
  const auto exposed = CompileModel(file.path(), options);
  ASSERT_TRUE(exposed.ok()) << exposed.status();
  EXPECT_EQ(exposed->states.size(), 0u);
  EXPECT_EQ(exposed->inputs.size(), 2u);
}

}  // namespace
}  // namespace berth
