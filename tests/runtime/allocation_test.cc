// A run for values allocates nothing of its own.
//
// Counted are operator new, malloc, calloc, realloc and aligned_alloc of every thread while a run
// lasts. Not counted is posix_memalign: it is how oneDNN takes the packing buffers of a product,
// and nothing of Berth calls it. Sanitizers bring their own malloc; there only operator new counts.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "tests/runtime/c_api/c_api_testing.h"
#include "tests/runtime/run_testing.h"
#include "tests/runtime/sanitizer_builds.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocation_count{0};

void Count() {
  if (counting.load(std::memory_order_relaxed)) ++allocation_count;
}

}  // namespace

#if !BERTH_IS_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size_bytes) noexcept {
  Count();
  return __libc_malloc(size_bytes);
}
void* calloc(size_t count, size_t size_bytes) noexcept {
  Count();
  return __libc_calloc(count, size_bytes);
}
void* realloc(void* old, size_t size_bytes) noexcept {
  Count();
  return __libc_realloc(old, size_bytes);
}
void* aligned_alloc(size_t alignment, size_t size_bytes) noexcept {
  Count();
  return __libc_memalign(alignment, size_bytes);
}
}
#else
void* operator new(size_t size_bytes) {
  Count();
  if (void* p = std::malloc(size_bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t size_bytes, const std::nothrow_t&) noexcept {
  Count();
  return std::malloc(size_bytes);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
#endif

namespace berth {
namespace {

int64_t AllocationsOfARun(Context& context, const RunBuffers& buffers) {
  allocation_count = 0;
  counting = true;
  const absl::Status status = context.Run(buffers.input_views, buffers.output_views);
  counting = false;
  EXPECT_TRUE(status.ok()) << status;
  return allocation_count;
}

TEST(Allocation, TheCounterCounts) {
  allocation_count = 0;
  counting = true;
  void* const block = ::operator new(100);
  counting = false;
  ::operator delete(block);
  EXPECT_EQ(allocation_count, 1);
}

// Both threads of the arena run the whole program, each by itself: libgomp and oneDNN keep
// something for each thread from its first product on.
void WarmUpBothThreads(tbb::task_arena& arena, const std::shared_ptr<const Program>& program) {
  arena.execute([&] {
    std::atomic<int> present{0};
    const auto meet_and_run = [&] {
      ++present;
      while (present < 2) std::this_thread::yield();
      RunOnce(program);
    };
    tbb::task_group group;
    group.run(meet_and_run);
    meet_and_run();
    group.wait();
  });
}

TEST(Allocation, ARunAllocatesNothing) {
  const std::shared_ptr<const Program> program = SmallProgram();
  const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2);
  WarmUpBothThreads(arena, program);
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    ArenaPool pool;
    ContextOptions options;
    options.threads = threads;
    options.arena = &arena;
    const std::unique_ptr<Context> context = MakeContext(program, pool, options);
    RunBuffers buffers(*program);
    for (int warm_up = 0; warm_up < 2; ++warm_up) AllocationsOfARun(*context, buffers);
    for (int run = 0; run < 20; ++run) EXPECT_EQ(AllocationsOfARun(*context, buffers), 0) << run;
  }
}

TEST(Allocation, ARunThroughTheCApiAllocatesNothing) {
  const BundleOnDisk bundle(CompileSmallNetwork());
  const ProgramHandle program = LoadProgram(bundle.path);
  const PoolHandle pool = MakePool();
  const ContextHandle context = MakeContextHandle(program, pool);
  std::vector<float> input = RampOf(kInputs), output(kOutputs);
  const int64_t extents[] = {1, 3, 12, 12};
  berth_tensor from = TensorOver(input), to = TensorOver(output);
  from.extents = extents;
  from.rank = 4;
  from.dtype = BERTH_FLOAT32;
  for (int run = 0; run < 10; ++run) {
    allocation_count = 0;
    counting = true;
    const berth_status status =
        berth_context_run(context.get(), &from, 1, &to, 1, nullptr, nullptr);
    counting = false;
    EXPECT_API_OK(status);
    if (run >= 2) {
      EXPECT_EQ(allocation_count, 0) << run;
    }
  }
}

}  // namespace
}  // namespace berth
