// Many requests: runs in the background and their one callback, arenas leased for a run, failures
// of the machine.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

// What a callback was told, and how often.
class Outcome {
 public:
  RunCallback Callback() {
    return [this](absl::Status status) { Tell(std::move(status)); };
  }
  void Tell(absl::Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = std::move(status);  // not shared: the packaged Abseil's counts look like races
    ++count_;
    changed_.notify_all();
  }
  absl::Status Await(int count = 1) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
    return status_;
  }
  int count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;
  int count_ = 0;
};

class Requests : public testing::Test {
 protected:
  // Keeps the only arena of `pool_` until it is destroyed.
  ArenaLease Occupy() {
    auto lease = pool_.Lease(program_->ArenaBytes());
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
  static ArenaPoolOptions OneArena(const Program& program, bool wait = true) {
    ArenaPoolOptions options;
    options.limit_bytes = program.ArenaBytes();
    options.wait = wait;
    return options;
  }
  static ContextOptions WhileRunning() {
    ContextOptions options;
    options.arena_use = ArenaUse::kWhileRunning;
    return options;
  }
  static void AwaitWaiters(const ArenaPool& pool, int64_t count) {
    while (pool.statistics().waiting < count) std::this_thread::yield();
  }

  const std::shared_ptr<const Program> program_ = SmallProgram();
  const std::vector<std::byte> expected_ = RunOnce(program_);
  ArenaPool pool_{OneArena(*program_)};
};

TEST_F(Requests, RunsInTheBackgroundInOwnAndHostsArenas) {
  tbb::task_arena arena(2);
  for (const bool hosts : {false, true}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(testing::Message() << hosts << ' ' << threads);
      ArenaPool pool;
      ContextOptions options;
      options.threads = threads;
      options.arena = hosts ? &arena : nullptr;
      const std::unique_ptr<Context> context = MakeContext(program_, pool, options);
      for (int run = 0; run < 5; ++run) {
        RunBuffers buffers(*program_);
        Outcome outcome;
        const absl::Status begun =
            context->RunAsync(buffers.input_views, buffers.output_views, outcome.Callback());
        ASSERT_TRUE(begun.ok()) << begun;
        EXPECT_TRUE(outcome.Await().ok());
        EXPECT_EQ(buffers.OutputBytes(), expected_);
      }
    }
  }
}

TEST_F(Requests, OutputsMayBeMadeInTheBackground) {
  const std::unique_ptr<Context> context = MakeContext(program_, pool_);
  RunBuffers buffers(*program_);
  std::vector<Tensor> outputs;
  SimReport report;
  RunOptions options;
  options.mode = RunMode::kBoth;
  Outcome outcome;
  ASSERT_TRUE(
      context->RunAsync(buffers.input_views, outputs, outcome.Callback(), options, &report).ok());
  ASSERT_TRUE(outcome.Await().ok());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].bytes(), absl::MakeConstSpan(expected_));
  EXPECT_GT(report.makespan_cycles, 0);
}

TEST_F(Requests, WhatIsRefusedIsNeverCalledBack) {
  const std::unique_ptr<Context> context = MakeContext(program_, pool_);
  RunBuffers buffers(*program_);
  Outcome outcome;
  EXPECT_TRUE(absl::IsInvalidArgument(
      context->RunAsync(buffers.input_views, buffers.output_views, nullptr)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(context->RunAsync({}, buffers.output_views, outcome.Callback())));
  RunOptions cycles;
  cycles.mode = RunMode::kCycles;
  EXPECT_TRUE(absl::IsInvalidArgument(
      context->RunAsync(buffers.input_views, buffers.output_views, outcome.Callback(), cycles)));
  EXPECT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
  EXPECT_EQ(outcome.count(), 0);
}

TEST_F(Requests, ASecondRunMeanwhileIsRefused) {
  std::optional<ArenaLease> held(Occupy());
  const std::unique_ptr<Context> context = MakeContext(program_, pool_, WhileRunning());
  RunBuffers first(*program_), second(*program_);
  Outcome outcome;
  ASSERT_TRUE(context->RunAsync(first.input_views, first.output_views, outcome.Callback()).ok());
  AwaitWaiters(pool_, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(context->Run(second.input_views, second.output_views)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      context->RunAsync(second.input_views, second.output_views, outcome.Callback())));
  held.reset();
  EXPECT_TRUE(outcome.Await().ok());
  EXPECT_EQ(first.OutputBytes(), expected_);
  EXPECT_TRUE(context->Run(second.input_views, second.output_views).ok());
}

TEST_F(Requests, TheNextRunMayBeginInsideTheCallback) {
  const std::unique_ptr<Context> context = MakeContext(program_, pool_);
  RunBuffers buffers(*program_);
  Outcome outcome;
  int left = 20;
  RunCallback again = [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    if (--left == 0) return outcome.Tell(status);
    const absl::Status begun = context->RunAsync(buffers.input_views, buffers.output_views, again);
    EXPECT_TRUE(begun.ok()) << begun;
    if (!begun.ok()) outcome.Tell(begun);
  };
  ASSERT_TRUE(context->RunAsync(buffers.input_views, buffers.output_views, again).ok());
  EXPECT_TRUE(outcome.Await().ok());
  EXPECT_EQ(buffers.OutputBytes(), expected_);
}

TEST_F(Requests, DestructionCancelsAndWaitsForTheCallback) {
  const ArenaLease held = Occupy();
  std::unique_ptr<Context> context = MakeContext(program_, pool_, WhileRunning());
  RunBuffers buffers(*program_);
  Outcome outcome;
  ASSERT_TRUE(
      context->RunAsync(buffers.input_views, buffers.output_views, outcome.Callback()).ok());
  context.reset();
  EXPECT_EQ(outcome.count(), 1);
  EXPECT_TRUE(absl::IsCancelled(outcome.Await()));
}

TEST_F(Requests, TheCallbackMayDestroyTheContext) {
  std::unique_ptr<Context> context = MakeContext(program_, pool_);
  RunBuffers buffers(*program_);
  Outcome outcome;
  const absl::Status begun =
      context->RunAsync(buffers.input_views, buffers.output_views, [&](const absl::Status& status) {
        context.reset();
        outcome.Tell(status);
      });
  ASSERT_TRUE(begun.ok()) << begun;
  EXPECT_TRUE(outcome.Await().ok());
  EXPECT_EQ(pool_.statistics().leased_bytes, 0);
}

TEST_F(Requests, CancelAndDeadlineEndAWaitForMemory) {
  const ArenaLease held = Occupy();
  const std::unique_ptr<Context> context = MakeContext(program_, pool_, WhileRunning());
  RunBuffers buffers(*program_);
  Outcome outcome;
  ASSERT_TRUE(
      context->RunAsync(buffers.input_views, buffers.output_views, outcome.Callback()).ok());
  AwaitWaiters(pool_, 1);
  context->Cancel();
  EXPECT_TRUE(absl::IsCancelled(outcome.Await()));
  RunOptions options;
  options.deadline = Clock::now() + std::chrono::milliseconds(5);
  const absl::Status late = context->Run(buffers.input_views, buffers.output_views, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_GE(Clock::now(), *options.deadline);
  const ArenaPoolStatistics statistics = pool_.statistics();
  EXPECT_EQ(statistics.waits, 2);
  EXPECT_EQ(statistics.stopped, 2);
  EXPECT_EQ(statistics.waiting, 0);
  EXPECT_GE(statistics.wait_ns, 4'000'000);
}

TEST_F(Requests, CreationWaitsNoLongerThanItsDeadline) {
  const ArenaLease held = Occupy();
  ContextOptions options;
  options.create_deadline = Clock::now() + std::chrono::milliseconds(5);
  const absl::Status late = Context::Create(program_, pool_, options).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
}

TEST_F(Requests, ManyContextsShareOneArena) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const std::unique_ptr<Context> context = MakeContext(program_, pool_, WhileRunning());
      for (int run = 0; run < 10; ++run) {
        RunBuffers buffers(*program_);
        const absl::Status status = context->Run(buffers.input_views, buffers.output_views);
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(buffers.OutputBytes(), expected_);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool_.statistics().leases, 40);
  EXPECT_EQ(pool_.statistics().peak_bytes, program_->ArenaBytes());
}

TEST_F(Requests, WithoutAWaitARunIsRefusedAndTheNextOneRuns) {
  ArenaPool pool(OneArena(*program_, false));
  const std::unique_ptr<Context> context = MakeContext(program_, pool, WhileRunning());
  RunBuffers buffers(*program_);
  {
    const auto held = pool.Lease(64);
    const absl::Status refused = context->Run(buffers.input_views, buffers.output_views);
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_EQ(pool.statistics().refused, 1);
  }
  EXPECT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
  EXPECT_EQ(buffers.OutputBytes(), expected_);
}

// Each command fails once in each way; the context goes on.
TEST_F(Requests, AFaultOfTheMachineNamesTheCommandAndTheContextRecovers) {
  const ProgramView& view = program_->bundle().program();
  for (const int threads : {1, 2}) {
    ArenaPool pool;
    ContextOptions options;
    options.threads = threads;
    const std::unique_ptr<Context> context = MakeContext(program_, pool, options);
    for (uint32_t command = 0; command < view.commands.size(); ++command) {
      for (const MachineFault fault : {MachineFault::kError, MachineFault::kTimeout}) {
        RunBuffers buffers(*program_);
        RunOptions run;
        run.fault = {command, fault, std::chrono::microseconds(50)};
        const absl::Status status = context->Run(buffers.input_views, buffers.output_views, run);
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        const std::string name =
            fmt::format("command {} ({}", command, OpcodeName(view.commands[command].opcode));
        EXPECT_NE(ToStd(status.message()).find(name), std::string_view::npos) << status;
      }
    }
    RunBuffers buffers(*program_);
    ASSERT_TRUE(context->Run(buffers.input_views, buffers.output_views).ok());
    EXPECT_EQ(buffers.OutputBytes(), expected_);
  }
}

TEST_F(Requests, AHangingCommandYieldsToDeadlineAndCancel) {
  const std::unique_ptr<Context> context = MakeContext(program_, pool_);
  RunBuffers buffers(*program_);
  RunOptions run;
  run.fault = {0, MachineFault::kTimeout, std::chrono::hours(1)};
  run.deadline = Clock::now() + std::chrono::milliseconds(5);
  const absl::Status late = context->Run(buffers.input_views, buffers.output_views, run);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  run.deadline.reset();
  Outcome outcome;
  ASSERT_TRUE(
      context->RunAsync(buffers.input_views, buffers.output_views, outcome.Callback(), run).ok());
  context->Cancel();
  EXPECT_TRUE(absl::IsCancelled(outcome.Await()));
  run.fault->command = 1u << 30;
  EXPECT_TRUE(
      absl::IsInvalidArgument(context->Run(buffers.input_views, buffers.output_views, run)));
}

}  // namespace
}  // namespace berth
