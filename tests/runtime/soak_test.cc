// Many requests of every kind at once, for a while: static and dynamic programs, in the foreground
// and in the background, few arenas for many contexts, cancels, deadlines, faults of the machine,
// buffers that are wrong. Whatever ends well has the right values; memory stays where it was.
//
// BERTH_SOAK_SECONDS says for how long; a second where it is not set.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/runtime/dynamic_testing.h"
#include "tests/runtime/run_testing.h"
#include "tests/runtime/sanitizer_builds.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 8;
// Caches of allocators and libraries; sanitizers keep freed memory for a while, and look for leaks
// themselves.
constexpr int64_t kSteadyBytes = BERTH_IS_SANITIZED ? int64_t{1} << 30 : int64_t{24} << 20;

std::chrono::milliseconds Length() {
  const char* const seconds = std::getenv("BERTH_SOAK_SECONDS");
  return std::chrono::milliseconds(seconds != nullptr ? std::atoll(seconds) * 1000 : 1000);
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// An input, and what comes out of it.
struct Case {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

struct Model {
  std::shared_ptr<const Program> program;
  std::vector<Case> cases;
};

std::vector<ConstTensorView> ViewsOf(const std::vector<Tensor>& tensors) {
  std::vector<ConstTensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

void AddCase(Model& model, Tensor input) {
  ArenaPool pool;
  Case made;
  made.inputs.push_back(std::move(input));
  const absl::Status status =
      MakeContext(model.program, pool)->Run(ViewsOf(made.inputs), made.outputs);
  EXPECT_TRUE(status.ok()) << status;
  model.cases.push_back(std::move(made));
}

// What is shared by all threads.
struct Site {
  std::vector<Model> models;
  std::unique_ptr<ArenaPool> pool;
  tbb::task_arena arena{2};
  std::atomic<int64_t> right{0}, stopped{0}, failed{0}, refused{0};

  bool HasEveryEnd() const { return right > 0 && stopped > 0 && failed > 0 && refused > 0; }
};

// One thread: a request after the other, each of a kind that chance chooses.
class Client {
 public:
  Client(Site& site, uint64_t seed) : site_(site), random_(seed) {
    for (const Model& model : site.models) {
      ContextOptions options;
      options.threads = Chance(2) ? 2 : 1;
      options.arena = &site.arena;
      options.arena_use = ArenaUse::kWhileRunning;
      contexts_.push_back(MakeContext(model.program, *site.pool, options));
    }
  }

  void Request() {
    const size_t m = random_() % contexts_.size();
    const Case& wanted = site_.models[m].cases[random_() % site_.models[m].cases.size()];
    Context& context = *contexts_[m];
    std::vector<ConstTensorView> inputs = ViewsOf(wanted.inputs);
    RunOptions options;
    if (Chance(4)) options.deadline = Clock::now() + std::chrono::microseconds(random_() % 400);
    if (Chance(8)) options.fault = {0, Chance(2) ? MachineFault::kError : MachineFault::kTimeout};
    if (Chance(16)) inputs[0].data = nullptr;
    std::vector<Tensor> outputs;
    Judge(Chance(2) ? context.Run(inputs, outputs, options)
                    : InBackground(context, inputs, outputs, options),
          outputs, wanted);
  }

 private:
  bool Chance(uint64_t one_in) { return random_() % one_in == 0; }

  absl::Status InBackground(Context& context, const std::vector<ConstTensorView>& inputs,
                            std::vector<Tensor>& outputs, const RunOptions& options) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<absl::Status> result;
    const absl::Status begun = context.RunAsync(
        inputs, outputs,
        [&](absl::Status status) {
          const std::lock_guard<std::mutex> lock(mutex);
          EXPECT_FALSE(result.has_value());
          result = std::move(status);  // not shared: the packaged Abseil's counts look like races
          changed.notify_all();
        },
        options);
    if (!begun.ok()) return begun;
    if (Chance(4)) context.Cancel();
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return result.has_value(); });
    return *std::move(result);
  }

  void Judge(const absl::Status& status, const std::vector<Tensor>& outputs, const Case& wanted) {
    if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) {
      ++site_.stopped;
    } else if (absl::IsUnavailable(status)) {
      ++site_.failed;
    } else if (absl::IsInvalidArgument(status)) {
      ++site_.refused;
    } else {
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(outputs.size(), wanted.outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_EQ(outputs[i].type(), wanted.outputs[i].type());
        ASSERT_EQ(outputs[i].bytes(), wanted.outputs[i].bytes());
      }
      ++site_.right;
    }
  }

  Site& site_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Context>> contexts_;
};

void RunClients(Site& site, std::chrono::milliseconds length, uint64_t seed) {
  const Clock::time_point end = Clock::now() + length;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&site, end, thread_seed = seed + static_cast<uint64_t>(t)] {
      while (Clock::now() < end) {
        Client client(site, thread_seed);
        for (int i = 0; i < 200 && Clock::now() < end; ++i) client.Request();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Soak, MixedRequestsFromEightThreads) {
  const uint64_t seed = 20261130;
  SCOPED_TRACE(seed);
  Site site;
  site.models.push_back({SmallProgram(), {}});
  for (uint64_t k = 1; k <= 3; ++k) AddCase(site.models[0], UniformTensor(Shape{1, 3, 12, 12}, k));
  site.models.push_back({MakeDynamicProgram(DynamicNetwork(true)), {}});
  for (int64_t side = 3; side <= 6; ++side) {
    AddCase(site.models[1], UniformTensor(Shape{side % 2 + 1, 3, side, side + 1}, 9));
  }
  ArenaPoolOptions options;  // room for three requests at once
  for (const Model& model : site.models) {
    options.limit_bytes = std::max(options.limit_bytes, 3 * model.program->ArenaBytes(2));
  }
  site.pool = std::make_unique<ArenaPool>(options);
  RunClients(site, Length() / 4, seed);  // until caches are warm
  const int64_t before_bytes = ResidentBytes();
  RunClients(site, Length(), seed + 100);
  // On a machine that others keep busy not every end may have come up in that time.
  for (uint64_t round = 2; round < 30 && !site.HasEveryEnd(); ++round) {
    RunClients(site, Length(), seed + 100 * round);
  }
  EXPECT_LT(ResidentBytes() - before_bytes, kSteadyBytes);
  EXPECT_EQ(site.pool->statistics().leased_bytes, 0);
  EXPECT_LE(site.pool->statistics().peak_bytes, options.limit_bytes);
  EXPECT_TRUE(site.HasEveryEnd()) << site.right << " right, " << site.stopped << " stopped, "
                                  << site.failed << " failed, " << site.refused << " refused";
  RecordProperty("right", static_cast<int>(site.right));
  RecordProperty("stopped", static_cast<int>(site.stopped));
}

}  // namespace
}  // namespace berth
