// Every allocation of load, run and compile fails once: a clean error (ResourceExhausted), no leak,
// and what was there before goes on working.
//
// Failing is operator new, of every thread, whatever its form; memory that libraries take from
// malloc is theirs to check. Spared are two libraries: that for JSON, as it reads a machine's
// description, allocates where it destroys and ends the process where it cannot; protobuf, as it
// reads an ONNX file, loses a message where the list that it goes into cannot grow. By default some
// of the allocations of each piece of work fail, with BERTH_ALLOCATION_SWEEP=all each of them.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "base/no_memory.h"
#include "tests/planner/tflite_testing.h"
#include "tests/runtime/dynamic_testing.h"
#include "tests/runtime/run_testing.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<int64_t> allocations_left{0};  // until one fails
std::atomic<int64_t> live_count{0};

bool IsSpared() {
  void* frames[64];
  const int count = backtrace(frames, 64);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0) continue;
    const std::string_view file = info.dli_fname == nullptr ? "" : info.dli_fname;
    if (file.find("libprotobuf") != std::string_view::npos) return true;
    const std::string_view name = info.dli_sname == nullptr ? "" : info.dli_sname;
    for (const char* part : {"nlohmann", "ParseNpuConfig"}) {
      if (name.find(part) != std::string_view::npos) return true;
    }
  }
  return false;
}

bool Fails() {
  return armed.load(std::memory_order_relaxed) &&
         allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0 && !IsSpared();
}

void* Allocate(size_t size_bytes, size_t alignment) {
  if (Fails()) return nullptr;
  const size_t rounded = (size_bytes + alignment) / alignment * alignment;
  void* const block = std::aligned_alloc(alignment, rounded);
  if (block != nullptr) live_count.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void* AllocateOrThrow(size_t size_bytes, size_t alignment) {
  if (void* const block = Allocate(size_bytes, alignment)) return block;
  throw std::bad_alloc();
}

void Free(void* block) {
  if (block != nullptr) live_count.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t n) { return AllocateOrThrow(n, kDefault); }
void* operator new(size_t n, std::align_val_t a) {
  return AllocateOrThrow(n, static_cast<size_t>(a));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kDefault); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { Free(p); }
void operator delete(void* p, size_t) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { Free(p); }

namespace berth {
namespace {

constexpr int64_t kFirst = 20;  // of each piece of work, one after the other
constexpr int64_t kOthers = 40;

bool IsWhole() {
  const char* const sweep = std::getenv("BERTH_ALLOCATION_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "all";
}

// What a callback was told.
class Outcome {
 public:
  void Tell(absl::Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    result_ = std::move(status);  // not shared: the packaged Abseil's counts look like races
    changed_.notify_all();
  }
  absl::Status Await() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return result_.has_value(); });
    return *std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> result_;
};

using Work = std::function<absl::Status()>;

// The result of `work`, whose allocation number `failing` fails (-1: none), and how many there
// were.
struct Attempt {
  absl::Status status;
  int64_t allocations = 0;
};
Attempt Try(const Work& work, int64_t failing) {
  constexpr int64_t kNever = int64_t{1} << 40;
  const int64_t begin = failing >= 0 ? failing : kNever;
  allocations_left = begin;
  armed = true;
  absl::Status status = work();
  armed = false;
  return {std::move(status), begin - allocations_left};
}

void Sweep(const Work& work) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) ASSERT_TRUE(work().ok()) << work();
  const int64_t total = Try(work, -1).allocations;
  ASSERT_GT(total, 0);
  const int64_t step = IsWhole() ? 1 : std::max<int64_t>(1, (total - kFirst) / kOthers);
  int64_t refused = 0;
  for (int64_t n = 0; n < total; n += n < kFirst ? 1 : step) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << " of " << total);
    const int64_t before = live_count;
    {
      const Attempt attempt = Try(work, n);
      refused += !attempt.status.ok();
      // Some can do without: a sort takes more time instead.
      EXPECT_TRUE(attempt.status.ok() || absl::IsResourceExhausted(attempt.status))
          << attempt.status;
    }
    // A thread in the background frees its last bytes when it is told of already, perhaps those of
    // an attempt before, too.
    for (int ms = 0; ms < 2000 && live_count > before; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(live_count, before);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 0);
  const absl::Status after = work();
  EXPECT_TRUE(after.ok()) << after;
}

// The caller's own part of a call.
template <typename T>
absl::StatusOr<T> Copy(const T& value) {
  return CatchNoMemory([&] { return absl::StatusOr<T>(value); });
}

class AllocationFailure : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status written = WriteBundle(path_, CompileSmallNetwork());
    ASSERT_TRUE(written.ok()) << written;
  }
  const ScratchFolder folder_;
  const std::string path_ = folder_.Write("m.berth", "");
};

TEST_F(AllocationFailure, Load) {
  for (const LoadLevel level : {LoadLevel::kTrusted, LoadLevel::kFull}) {
    Sweep([&] { return Program::Load(path_, level).status(); });
  }
}

TEST_F(AllocationFailure, CreateAndRun) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const std::vector<std::byte> expected = RunOnce(program);
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    tbb::task_arena arena(threads);
    ArenaPool pool;
    RunBuffers buffers(*program);
    ContextOptions options;
    options.threads = threads;
    options.arena = &arena;
    Sweep([&] {
      BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                             Context::Create(program, pool, options));
      return context->Run(buffers.input_views, buffers.output_views);
    });
    EXPECT_EQ(buffers.OutputBytes(), expected);
    EXPECT_EQ(pool.statistics().leased_bytes, 0);
  }
}

// One context through all failures: it goes on.
TEST_F(AllocationFailure, RunsThatMakeTheirOutputsAndReports) {
  const std::shared_ptr<const Program> program = SmallProgram();
  ArenaPool pool;
  const std::unique_ptr<Context> context = MakeContext(program, pool);
  RunBuffers buffers(*program);
  RunOptions both;
  both.mode = RunMode::kBoth;
  Sweep([&] {
    std::vector<Tensor> outputs;
    SimReport report;
    return context->Run(buffers.input_views, outputs, both, &report);
  });
}

TEST_F(AllocationFailure, RunsInTheBackground) {
  const std::shared_ptr<const Program> program = SmallProgram();
  tbb::task_arena arena(2);
  ArenaPool pool;
  ContextOptions options;
  options.arena = &arena;
  const std::unique_ptr<Context> context = MakeContext(program, pool, options);
  RunBuffers buffers(*program);
  Sweep([&] {
    std::vector<Tensor> outputs;
    Outcome outcome;
    const absl::Status begun = context->RunAsync(
        buffers.input_views, outputs, [&outcome](absl::Status s) { outcome.Tell(std::move(s)); });
    return begun.ok() ? outcome.Await() : begun;
  });
}

TEST_F(AllocationFailure, DynamicLoadAndRun) {
  const ScratchFolder folder;
  const auto contents =
      CompileModel(folder.Write("m.onnx", DynamicNetwork(true).model), DynamicCompileOptions());
  ASSERT_TRUE(contents.ok()) << contents.status();
  const std::string path = folder.Write("dynamic.berth", "");
  ASSERT_TRUE(WriteBundle(path, *contents).ok());
  const DynamicOptions dynamic = TestDynamicOptions();
  const Tensor image = UniformTensor(Shape{1, 3, 4, 5}, 3);
  const ConstTensorView view = image.view();
  ArenaPool pool;
  Sweep([&] {
    BERTH_ASSIGN_OR_RETURN(DynamicOptions options, Copy(dynamic));
    BERTH_ASSIGN_OR_RETURN(const auto program,
                           Program::Load(path, LoadLevel::kFull, std::move(options)));
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context, Context::Create(program, pool));
    std::vector<Tensor> outputs;
    BERTH_RETURN_IF_ERROR(context->Run({&view, 1}, outputs));
    return context->Run({&view, 1}, outputs);
  });
}

Work CompilesBytes(const std::string& model, const CompileOptions& options) {
  return [&model, &options]() -> absl::Status {
    const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(model.data()),
                                            model.size());
    BERTH_ASSIGN_OR_RETURN(const BundleContents contents, CompileModelBytes(bytes, options));
    return CatchNoMemory([&] {
      return SerializeBundle(contents).empty() ? Internal("no bytes") : absl::OkStatus();
    });
  };
}

TEST_F(AllocationFailure, CompileOnnx) {
  const std::string model = DynamicNetwork(false).model.SerializeAsString();
  CompileOptions options = DynamicCompileOptions();
  options.input_shapes["image"] = Shape{1, 3, 8, 8};
  Sweep(CompilesBytes(model, options));
}

// With the plan of the largest shape.
TEST_F(AllocationFailure, CompileDynamicOnnx) {
  const std::string model = DynamicNetwork(false).model.SerializeAsString();
  CompileOptions options = DynamicCompileOptions();
  options.ranges = {{"d0", 1, 2}};
  Sweep(CompilesBytes(model, options));
}

TEST_F(AllocationFailure, CompileTflite) {
  TfliteWriter writer;
  const int input = writer.Value({"x", {2, 4}});
  const int weights = writer.Floats({3, 4}, std::vector<float>(12, 0.5f));
  const int bias = writer.Floats({3}, {1, -2, 3});
  const int output = writer.Value({"y", {2, 3}});
  writer.Op(tfl::BuiltinOperator::FULLY_CONNECTED, {input, weights, bias}, {output},
            tfl::CreateFullyConnectedOptions(writer.fbb(), tfl::Activation::RELU));
  const std::string model = writer.Finish({input}, {output});
  Sweep(CompilesBytes(model, DynamicCompileOptions()));
}

}  // namespace
}  // namespace berth
