// Runs that are to stop while a program for their shapes is made, by them or by others.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "planner/compile.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStep{1};

void AwaitTrue(const std::function<bool()>& condition) {
  const auto give_up = Clock::now() + std::chrono::seconds(20);
  while (!condition() && Clock::now() < give_up) std::this_thread::sleep_for(kStep);
  ASSERT_TRUE(condition());
}

ModelBuilder ReluModel() {
  ModelBuilder b;
  b.Input("x", {-1, 4});
  b.Node("Relu", {"x"}, {"y"});
  b.Output("y", {-1, 4});
  return b;
}

// A lowering of which the first goes on until it is to stop, or until it may end.
class SlowFirst {
 public:
  DynamicOptions Options() {
    DynamicOptions options = TestDynamicOptions();
    options.lower = [this, lower = options.lower](
                        Graph graph,
                        const LoweringRequest& request) -> absl::StatusOr<BundleContents> {
      if (count_.fetch_add(1) == 0) {
        while (!may_end_ && !ShouldStop(request.stop)) std::this_thread::sleep_for(kStep);
        BERTH_RETURN_IF_ERROR(CheckStop(request.stop));
      }
      return lower(std::move(graph), request);
    };
    return options;
  }
  void AwaitBegin() const {
    AwaitTrue([&] { return count_ > 0; });
  }
  void End() { may_end_ = true; }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
  std::atomic<bool> may_end_{false};
};

class DynamicStop : public ::testing::Test {
 protected:
  std::unique_ptr<Context> NewContext() { return ContextOf(program_, pool_); }
  absl::Status Run(Context& context, const RunOptions& options = {}) {
    std::vector<Tensor> outputs;
    return context.Run({input_.view()}, outputs, options);
  }
  static RunOptions Soon() {
    RunOptions options;
    options.deadline = Clock::now() + std::chrono::milliseconds(5);
    return options;
  }

  const ModelBuilder model_ = ReluModel();
  SlowFirst slow_;
  std::shared_ptr<const Program> program_ = MakeDynamicProgram(model_, slow_.Options());
  ArenaPool pool_;
  const Tensor input_ = UniformTensor({3, 4}, 1);
};

TEST_F(DynamicStop, ADeadlineEndsTheLowering) {
  const auto context = NewContext();
  const absl::Status late = Run(*context, Soon());
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_EQ(slow_.count(), 1);
  RunAndCompare(*context, model_, {UniformTensor({3, 4}, 1)});
  EXPECT_EQ(slow_.count(), 2);
}

TEST_F(DynamicStop, ADeadlineEndsAWaitForTheLoweringOfAnotherRun) {
  const auto first = NewContext(), second = NewContext();
  auto begun = std::async(std::launch::async, [&] { return Run(*first); });
  slow_.AwaitBegin();
  const absl::Status late = Run(*second, Soon());
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_EQ(slow_.count(), 1);
  slow_.End();
  const absl::Status status = begun.get();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(DynamicStop, WhoWaitsForARunThatIsCancelledMakesTheProgram) {
  const auto first = NewContext(), second = NewContext();
  auto cancelled = std::async(std::launch::async, [&] { return Run(*first); });
  slow_.AwaitBegin();
  auto waiting = std::async(std::launch::async, [&] { return Run(*second); });
  std::this_thread::sleep_for(20 * kStep);
  first->Cancel();
  EXPECT_TRUE(absl::IsCancelled(cancelled.get()));
  const absl::Status status = waiting.get();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(slow_.count(), 2);
}

TEST(DynamicPlan, EndsWithItsProgram) {
  DynamicOptions options = TestDynamicOptions();
  std::atomic<bool> begun{false}, was_stopped{false};
  options.hot_runs = 1;
  options.plan = [&](const Graph&,
                     const LoweringRequest& request) -> absl::StatusOr<BundleContents> {
    begun = true;
    while (!ShouldStop(request.stop)) std::this_thread::sleep_for(kStep);
    was_stopped = true;
    return CheckStop(request.stop);
  };
  auto program = MakeDynamicProgram(ReluModel(), options);
  {
    ArenaPool pool;
    const auto context = ContextOf(program, pool);
    ASSERT_TRUE(RunOnly(*context, {UniformTensor({3, 4}, 1)}).ok());
  }
  AwaitTrue([&] { return begun.load(); });
  program.reset();  // would wait for ever
  EXPECT_TRUE(was_stopped);
}

TEST(Compilation, EndsByItsDeadlineAndByCancel) {
  const ScratchFolder folder;
  const std::string path = folder.Write("m.onnx", DynamicNetwork(false).model);
  CompileOptions options = DynamicCompileOptions();
  options.input_shapes["image"] = Shape{2, 3, 8, 8};
  options.stop.deadline = Clock::now();
  const absl::Status late = CompileModel(path, options).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(ToStd(late.message())), HasSubstr("the compilation's deadline"));
  const std::atomic<bool> cancel{true};
  options.stop = {&cancel, std::nullopt};
  EXPECT_TRUE(absl::IsCancelled(CompileModel(path, options).status()));
  options.stop = {};
  EXPECT_TRUE(CompileModel(path, options).ok());
}

}  // namespace
}  // namespace berth
