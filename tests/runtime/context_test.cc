// Running: the same for any number of threads, refusing wrong buffers, stopping and going on.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

TEST(Context, GivesTheValuesOfTheReference) {
  const std::shared_ptr<const Program> program = SmallProgram();
  ArenaPool pool;
  RunBuffers buffers(*program);
  const absl::Status status =
      MakeContext(program, pool)->Run(buffers.input_views, buffers.output_views);
  ASSERT_TRUE(status.ok()) << status;
  const auto expected = Interpret(SmallNetwork(), buffers.inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_LE(RelativeError(buffers.outputs[0], (*expected)[0]), 1e-5);
}

TEST(Context, SameBitsAndCyclesForAnyNumberOfThreads) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  const auto simulated = program->Simulate();
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  EXPECT_GT(simulated->makespan_cycles, 0);
  // More workers than the machine may have cores.
  const tbb::global_control workers(tbb::global_control::max_allowed_parallelism, 16);
  ArenaPool pool;
  for (const int threads : {1, 2, 8, 16}) {
    SCOPED_TRACE(threads);
    ContextOptions options;
    options.threads = threads;
    options.poison_before_run = true;
    const std::unique_ptr<Context> context = MakeContext(program, pool, options);
    RunOptions run;
    run.mode = RunMode::kBoth;
    for (int repeat = 0; repeat < 10; ++repeat) {
      RunBuffers buffers(*program);
      SimReport report;
      const absl::Status status =
          context->Run(buffers.input_views, buffers.output_views, run, &report);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(buffers.OutputBytes(), expected);
      EXPECT_EQ(report.makespan_cycles, simulated->makespan_cycles);
    }
  }
}

TEST(Context, RunsInTheHostsArena) {
  const std::shared_ptr<const Program> program = SmallProgram();
  tbb::task_arena arena(2);
  ContextOptions options;
  options.threads = 2;
  options.arena = &arena;
  EXPECT_EQ(RunOnce(program, options), RunOnce(program));
}

TEST(Context, NothingComesFromAnEarlierRun) {
  const std::shared_ptr<const Program> program = SmallProgram();
  ArenaPool pool;
  ContextOptions options;
  options.poison_before_run = true;
  const std::unique_ptr<Context> poisoned = MakeContext(program, pool, options);
  const std::unique_ptr<Context> plain = MakeContext(program, pool);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RunBuffers a(*program, seed), b(*program, seed);
    ASSERT_TRUE(poisoned->Run(a.input_views, a.output_views).ok());
    ASSERT_TRUE(plain->Run(b.input_views, b.output_views).ok());
    EXPECT_EQ(a.OutputBytes(), b.OutputBytes());
    for (const float value : a.outputs[0].Values<float>()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Context, CyclesNeedNoBuffersButAReport) {
  const std::shared_ptr<const Program> program = SmallProgram();
  ArenaPool pool;
  const std::unique_ptr<Context> context = MakeContext(program, pool);
  RunOptions run;
  run.mode = RunMode::kCycles;
  run.record_commands = true;
  SimReport report;
  ASSERT_TRUE(context->Run({}, {}, run, &report).ok());
  EXPECT_EQ(report.commands.size(), program->bundle().program().commands.size());
  EXPECT_TRUE(absl::IsInvalidArgument(context->Run({}, {}, run)));
}

class ContextBuffers : public testing::Test {
 protected:
  // The run refuses with a message that holds `part`; then a good run still works.
  void ExpectRefused(absl::string_view part) {
    const absl::Status status = context_->Run(buffers_.input_views, buffers_.output_views);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(part), absl::string_view::npos) << status;
    RunBuffers good(*program_);
    EXPECT_TRUE(context_->Run(good.input_views, good.output_views).ok());
  }

  const std::shared_ptr<const Program> program_ = SmallProgram();
  ArenaPool pool_;
  const std::unique_ptr<Context> context_ = MakeContext(program_, pool_);
  RunBuffers buffers_{*program_};
};

TEST_F(ContextBuffers, WrongCounts) {
  buffers_.input_views.push_back(buffers_.input_views[0]);
  ExpectRefused("2 inputs and 1 outputs given, 1 and 1 expected");
  buffers_.input_views.resize(1);
  buffers_.output_views.clear();
  ExpectRefused("1 inputs and 0 outputs given");
}

TEST_F(ContextBuffers, WrongTypes) {
  const TensorType right = buffers_.input_views[0].type;
  buffers_.input_views[0].type.dtype = DType::kInt32;
  ExpectRefused("input 0");
  buffers_.input_views[0].type = {right.dtype, Shape{1, 3, 12, 11}};
  ExpectRefused("1x3x12x12");
  buffers_.input_views[0].type = {right.dtype, Shape{3, 12, 12}};
  ExpectRefused("input 0");
  buffers_.input_views[0].type = right;
  buffers_.output_views[0].type.shape = Shape{10, 1};
  ExpectRefused("output 0");
}

TEST_F(ContextBuffers, NullData) {
  const std::byte* const input = buffers_.input_views[0].data;
  buffers_.input_views[0].data = nullptr;
  ExpectRefused("null data");
  buffers_.input_views[0].data = input;
  buffers_.output_views[0].data = nullptr;
  ExpectRefused("null data");
}

TEST_F(ContextBuffers, MisalignedData) {
  const std::byte* const input = buffers_.input_views[0].data;
  buffers_.input_views[0].data = input + 2;
  ExpectRefused("not aligned");
  buffers_.input_views[0].data = input;
  ++buffers_.output_views[0].data;
  ExpectRefused("not aligned");
}

TEST_F(ContextBuffers, OverlappingData) {
  // The output's last element is the input's first.
  std::vector<float> bytes(9 + 3 * 12 * 12, 1.0f);
  auto* const data = reinterpret_cast<std::byte*>(bytes.data());
  buffers_.output_views[0].data = data;
  buffers_.input_views[0].data = data + 9 * sizeof(float);
  ExpectRefused("output 0 overlaps input 0");
}

TEST(Context, CancelledBeforeItBeginsAndNotTheNextTime) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  for (const int threads : {1, 4}) {
    SCOPED_TRACE(threads);
    ArenaPool pool;
    ContextOptions options;
    options.threads = threads;
    const std::unique_ptr<Context> context = MakeContext(program, pool, options);
    RunBuffers buffers(*program);
    context->Cancel();
    EXPECT_TRUE(absl::IsCancelled(context->Run(buffers.input_views, buffers.output_views)));
    ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
    EXPECT_EQ(buffers.OutputBytes(), expected);
  }
}

TEST(Context, CancelledInTheMiddleItGoesOnNextTime) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  for (const int threads : {1, 4}) {
    SCOPED_TRACE(threads);
    ArenaPool pool;
    ContextOptions options;
    options.threads = threads;
    const std::unique_ptr<Context> context = MakeContext(program, pool, options);
    std::atomic<bool> done{false};
    std::thread canceller([&] {
      while (!done) {
        context->Cancel();
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    int cancelled = 0;
    for (int run = 0; run < 100 || cancelled == 0; ++run) {
      RunBuffers buffers(*program);
      const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
      if (status.ok()) {
        EXPECT_EQ(buffers.OutputBytes(), expected);
      } else {
        EXPECT_TRUE(absl::IsCancelled(status)) << status;
        ++cancelled;
      }
    }
    done = true;
    canceller.join();
    EXPECT_GT(cancelled, 0);
    RunBuffers buffers(*program);
    (void)context->Run(buffers.input_views, buffers.output_views);  // takes a late cancellation
    ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
    EXPECT_EQ(buffers.OutputBytes(), expected);
  }
}

TEST(Context, AfterADeadlineItGoesOn) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  for (const int threads : {1, 4}) {
    SCOPED_TRACE(threads);
    ArenaPool pool;
    ContextOptions options;
    options.threads = threads;
    const std::unique_ptr<Context> context = MakeContext(program, pool, options);
    RunBuffers buffers(*program);
    for (const int microseconds : {0, 20, 50, 100, 200}) {
      RunOptions run;
      run.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
      const absl::Status status = context->Run(buffers.input_views, buffers.output_views, run);
      EXPECT_TRUE(absl::IsDeadlineExceeded(status) || (microseconds > 0 && status.ok())) << status;
    }
    RunOptions far;
    far.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
    ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views, far).ok());
    EXPECT_EQ(buffers.OutputBytes(), expected);
  }
}

TEST(Context, TwoAtOnceFromOneProgram) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  ArenaPool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      ContextOptions options;
      options.threads = t + 1;
      const std::unique_ptr<Context> context = MakeContext(program, pool, options);
      for (int run = 0; run < 20; ++run) {
        RunBuffers buffers(*program);
        ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
        EXPECT_EQ(buffers.OutputBytes(), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().leases, 2);
}

TEST(Context, RefusesThreadCountsAndArenasThatCannotBe) {
  const std::shared_ptr<const Program> program = SmallProgram();
  ArenaPool pool;
  ContextOptions options;
  options.threads = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(Context::Create(program, pool, options).status()));
  ArenaPoolOptions little;
  little.limit_bytes = program->memory().arena_bytes - 64;
  ArenaPool small(little);
  EXPECT_TRUE(absl::IsResourceExhausted(Context::Create(program, small).status()));
}

}  // namespace
}  // namespace berth
