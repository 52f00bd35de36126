// Many requests through the C API: threads, runs in the background, arenas, and what is logged.
#include <tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/runtime/c_api/c_api_testing.h"

namespace berth {
namespace {

using CApiRequests = CApi;

TEST_F(CApiRequests, MessagesBelongToTheirThread) {
  ExpectError(berth_context_cancel(nullptr), BERTH_INVALID_ARGUMENT, "context is null");
  std::thread([] {
    EXPECT_STREQ(berth_last_error_message(), "");
    ExpectError(berth_report_get(nullptr, nullptr), BERTH_INVALID_ARGUMENT, "report is null");
  }).join();
  EXPECT_STREQ(berth_last_error_message(), "context is null");
}

// Each thread with a context of its own; all get the same values.
TEST_F(CApiRequests, ServesManyThreads) {
  EXPECT_API_OK(Run());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const ContextHandle own = MakeContextHandle(program, pool);
      std::vector<float> mine(kOutputs);
      const berth_tensor from = TensorOver(input), to = TensorOver(mine);
      for (int run = 0; run < 3; ++run) {
        EXPECT_API_OK(berth_context_run(own.get(), &from, 1, &to, 1, nullptr, nullptr));
        EXPECT_EQ(mine, output);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CApiRequests, AnArenaPoolKeepsItsLimit) {
  berth_memory memory = berth_memory_init();
  EXPECT_API_OK(berth_program_memory(program.get(), &memory));
  berth_arena_pool_options options = berth_arena_pool_options_init();
  options.limit_bytes = memory.arena_bytes;
  options.fail_at_limit = 1;
  options.idle_limit_bytes = -1;
  const PoolHandle limited = MakePool(&options);
  ContextHandle first = MakeContextHandle(program, limited);
  berth_context* second = nullptr;
  ExpectError(berth_context_create(program.get(), limited.get(), nullptr, &second),
              BERTH_RESOURCE_EXHAUSTED, std::to_string(memory.arena_bytes));
  first.reset();
  berth_arena_pool_statistics statistics = berth_arena_pool_statistics_init();
  EXPECT_API_OK(berth_arena_pool_get_statistics(limited.get(), &statistics));
  EXPECT_EQ(statistics.idle_bytes, 0);
  first = MakeContextHandle(program, limited);
  EXPECT_NE(first, nullptr);
}

// Ends of runs in the background, in the order of their coming.
struct Ends {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<berth_status> statuses;
  std::vector<ReportHandle> reports;

  static void Add(void* user, berth_status status, const char* message, berth_report* report) {
    auto* const ends = static_cast<Ends*>(user);
    EXPECT_EQ(status == BERTH_OK, std::string(message).empty()) << message;
    const std::lock_guard<std::mutex> lock(ends->mutex);
    ends->statuses.push_back(status);
    ends->reports.emplace_back(report);
    ends->changed.notify_all();
  }
  std::vector<berth_status> Wait(size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return statuses.size() >= count; });
    return statuses;
  }
};

TEST_F(CApiRequests, RunsInTheBackground) {
  EXPECT_API_OK(Run());
  std::vector<float> later(kOutputs);
  const berth_tensor from = TensorOver(input), to = TensorOver(later);
  Ends ends;
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_BOTH;
  EXPECT_API_OK(
      berth_context_run_async(context.get(), &from, 1, &to, 1, &options, Ends::Add, &ends));
  EXPECT_THAT(ends.Wait(1), testing::ElementsAre(BERTH_OK));
  EXPECT_EQ(later, output);
  EXPECT_NE(ends.reports[0], nullptr);
  EXPECT_API_OK(berth_context_cancel(context.get()));
  EXPECT_API_OK(
      berth_context_run_async(context.get(), &from, 1, &to, 1, nullptr, Ends::Add, &ends));
  EXPECT_THAT(ends.Wait(2), testing::ElementsAre(BERTH_OK, BERTH_CANCELLED));
  EXPECT_EQ(ends.reports[1], nullptr);
  // What is wrong at once is told at once, and the context stays of use.
  ExpectError(berth_context_run_async(context.get(), &from, 1, &from, 1, nullptr, Ends::Add, &ends),
              BERTH_INVALID_ARGUMENT, "output 0");
  EXPECT_API_OK(Run());
  EXPECT_API_OK(
      berth_context_run_async(context.get(), &from, 1, &to, 1, nullptr, Ends::Add, &ends));
  context.reset();  // stops it and waits
  EXPECT_EQ(ends.Wait(3).size(), 3u);
}

// A chain of runs, each begun by the end of the one before; the last one releases the context.
TEST_F(CApiRequests, TheNextRunMayBeginInTheCallback) {
  struct Chain {
    berth_context* context;
    berth_tensor from, to;
    int left = 5;
    Ends ends;
    static void Next(void* user, berth_status status, const char* message, berth_report* report) {
      auto* const chain = static_cast<Chain*>(user);
      if (--chain->left > 0) {
        EXPECT_API_OK(berth_context_run_async(chain->context, &chain->from, 1, &chain->to, 1,
                                              nullptr, Next, chain));
        return;
      }
      berth_context_release(chain->context);
      Ends::Add(&chain->ends, status, message, report);
    }
  } chain = {context.release(), TensorOver(input), TensorOver(output), 5, {}};
  EXPECT_API_OK(berth_context_run_async(chain.context, &chain.from, 1, &chain.to, 1, nullptr,
                                        Chain::Next, &chain));
  EXPECT_THAT(chain.ends.Wait(1), testing::ElementsAre(BERTH_OK));
  EXPECT_EQ(chain.left, 0);
}

// Outputs of runs in the background that the library made.
struct MadeOutputs {
  Ends ends;
  std::vector<ListHandle> lists;

  static void Add(void* user, berth_status status, const char* message, berth_tensor_list* outputs,
                  berth_report* report) {
    auto* const made = static_cast<MadeOutputs*>(user);
    EXPECT_EQ(status == BERTH_OK, outputs != nullptr);
    {
      const std::lock_guard<std::mutex> lock(made->ends.mutex);
      made->lists.emplace_back(outputs);
    }
    Ends::Add(&made->ends, status, message, report);
  }
  std::vector<float> Values(size_t run) {
    berth_tensor tensor = {};
    EXPECT_API_OK(berth_tensor_list_get(lists[run].get(), 0, &tensor));
    const auto* const values = static_cast<const float*>(tensor.data);
    return {values, values + tensor.size_bytes / sizeof(float)};
  }
};

TEST_F(CApiRequests, RunsInTheBackgroundMakeTheirOutputs) {
  EXPECT_API_OK(Run());
  const berth_tensor from = TensorOver(input);
  MadeOutputs made;
  berth_run_options options = berth_run_options_init();
  options.mode = BERTH_RUN_BOTH;
  EXPECT_API_OK(
      berth_context_run_alloc_async(context.get(), &from, 1, &options, MadeOutputs::Add, &made));
  EXPECT_THAT(made.ends.Wait(1), testing::ElementsAre(BERTH_OK));
  EXPECT_NE(made.ends.reports[0], nullptr);
  EXPECT_API_OK(berth_context_cancel(context.get()));
  EXPECT_API_OK(
      berth_context_run_alloc_async(context.get(), &from, 1, nullptr, MadeOutputs::Add, &made));
  EXPECT_THAT(made.ends.Wait(2), testing::ElementsAre(BERTH_OK, BERTH_CANCELLED));
  ExpectError(
      berth_context_run_alloc_async(context.get(), &from, 0, nullptr, MadeOutputs::Add, &made),
      BERTH_INVALID_ARGUMENT, "0 inputs given, 1 expected");
  ExpectError(berth_context_run_alloc_async(context.get(), &from, 1, nullptr, nullptr, &made),
              BERTH_INVALID_ARGUMENT, "done is null");
  EXPECT_API_OK(Run());
  context.reset();  // what was made is the caller's
  EXPECT_EQ(made.Values(0), output);
}

// Three contexts that share workers, each run by a thread of its own, in the foreground and in the
// background.
void ExpectSameValuesWith(const berth_workers* workers, const ProgramHandle& program,
                          const PoolHandle& pool, std::vector<float>& input,
                          const std::vector<float>& expected) {
  berth_context_options options = berth_context_options_init();
  options.threads = 3;
  options.workers = workers;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      berth_context* made = nullptr;
      EXPECT_API_OK(berth_context_create(program.get(), pool.get(), &options, &made));
      ContextHandle context(made);
      std::vector<float> mine(expected.size()), later(expected.size());
      const berth_tensor from = TensorOver(input), to = TensorOver(mine), next = TensorOver(later);
      EXPECT_API_OK(berth_context_run(made, &from, 1, &to, 1, nullptr, nullptr));
      Ends ends;
      EXPECT_API_OK(berth_context_run_async(made, &from, 1, &next, 1, nullptr, Ends::Add, &ends));
      EXPECT_THAT(ends.Wait(1), testing::ElementsAre(BERTH_OK));
      EXPECT_EQ(mine, expected);
      EXPECT_EQ(later, expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CApiRequests, ContextsShareWorkers) {
  EXPECT_API_OK(Run());
  berth_workers* workers = nullptr;
  EXPECT_API_OK(berth_workers_create(2, &workers));
  ExpectSameValuesWith(workers, program, pool, input, output);
  // A context keeps its workers.
  berth_context_options options = berth_context_options_init();
  options.workers = workers;
  berth_context* made = nullptr;
  EXPECT_API_OK(berth_context_create(program.get(), pool.get(), &options, &made));
  const ContextHandle last(made);
  berth_workers_release(workers);
  const berth_tensor from = TensorOver(input), to = TensorOver(output);
  Ends ends;
  EXPECT_API_OK(berth_context_run_async(made, &from, 1, &to, 1, nullptr, Ends::Add, &ends));
  EXPECT_THAT(ends.Wait(1), testing::ElementsAre(BERTH_OK));
  berth_workers* none = nullptr;
  ExpectError(berth_workers_create(0, &none), BERTH_INVALID_ARGUMENT, "threads: 0");
  ExpectError(berth_workers_create(5000, &none), BERTH_INVALID_ARGUMENT, "threads: 5000");
  berth_workers_release(nullptr);
}

// The callback comes from a thread of the host's arena, which is told by its size.
TEST_F(CApiRequests, RunsInAnArenaOfTheHost) {
  EXPECT_API_OK(Run());
  constexpr int kThreads = 2;
  tbb::task_arena arena(kThreads);
  berth_workers* borrowed = nullptr;
  EXPECT_API_OK(berth_workers_borrow(&arena, &borrowed));
  ExpectSameValuesWith(borrowed, program, pool, input, output);
  struct Seen {
    Ends ends;
    int threads = 0;
    static void Add(void* user, berth_status status, const char* message, berth_report* report) {
      auto* const seen = static_cast<Seen*>(user);
      seen->threads = tbb::this_task_arena::max_concurrency();
      Ends::Add(&seen->ends, status, message, report);
    }
  };
  berth_context_options options = berth_context_options_init();  // one thread of its own
  for (const berth_workers* workers :
       {static_cast<const berth_workers*>(nullptr), static_cast<const berth_workers*>(borrowed)}) {
    options.workers = workers;
    berth_context* made = nullptr;
    EXPECT_API_OK(berth_context_create(program.get(), pool.get(), &options, &made));
    const ContextHandle last(made);
    const berth_tensor from = TensorOver(input), to = TensorOver(output);
    Seen seen;
    EXPECT_API_OK(berth_context_run_async(made, &from, 1, &to, 1, nullptr, Seen::Add, &seen));
    EXPECT_THAT(seen.ends.Wait(1), testing::ElementsAre(BERTH_OK));
    EXPECT_EQ(seen.threads, workers == nullptr ? 1 : kThreads);
  }
  berth_workers_release(borrowed);
  ExpectError(berth_workers_borrow(nullptr, &borrowed), BERTH_INVALID_ARGUMENT,
              "task_arena is null");
}

struct LogLines {
  std::atomic<int> count{0};
  std::string last;
  static void Add(void* user, berth_log_level level, const char* message, size_t message_bytes) {
    auto* const lines = static_cast<LogLines*>(user);
    EXPECT_LE(level, BERTH_LOG_INFO);
    EXPECT_EQ(std::strlen(message), message_bytes);
    lines->last = message;
    ++lines->count;
  }
};

TEST_F(CApiRequests, LogsToTheHostOrNotAtAll) {
  LogLines lines;
  berth_load_options options = berth_load_options_init();
  options.log.callback = LogLines::Add;
  options.log.user = &lines;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  LoadProgram(bundle.path, &options);  // level off
  EXPECT_EQ(lines.count, 0);
  options.log.level = BERTH_LOG_INFO;
  program = LoadProgram(bundle.path, &options);
  EXPECT_EQ(lines.count, 1);
  EXPECT_THAT(lines.last, testing::HasSubstr("loaded"));
  context = MakeContextHandle(program, pool);
  berth_context_cancel(context.get());
  EXPECT_EQ(Run(), BERTH_CANCELLED);
  EXPECT_EQ(lines.count, 2);
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace berth
