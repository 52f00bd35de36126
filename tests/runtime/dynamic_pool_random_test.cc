// Random traces: the allocator against its verifier, the pool against the naive model, threads.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "tests/runtime/pool_checking.h"

namespace berth {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kMiB = 1024 * 1024;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(bound));
  }
  // Evenly over the magnitudes up to 2^powers.
  int64_t Size(int powers) { return 1 + Below(int64_t{1} << Below(powers + 1)); }
  int64_t Alignment(int powers) { return Below(3) > 0 ? 64 : int64_t{1} << Below(powers + 1); }

 private:
  std::mt19937_64 engine_;
};

TEST(OffsetAllocator, RandomTracesKeepItsInvariants) {
  using Extent = OffsetAllocator::Extent;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t begin_bytes = 16 * kPageBytes, end_bytes = begin_bytes + 4 * kMiB;
    OffsetAllocator blocks(begin_bytes, end_bytes, kPageBytes);
    std::vector<OffsetAllocator::NodeId> live;
    std::vector<Extent> extents;
    for (int step = 0; step < 3000; ++step) {
      const int64_t kind = random.Below(100);
      if (kind < 52) {
        const int64_t size_bytes = (random.Size(18) + 63) / 64 * 64;
        const int64_t alignment = std::max<int64_t>(64, random.Alignment(14));
        auto id = blocks.Take(size_bytes, alignment);
        if (id == OffsetAllocator::kNone) {
          const int64_t slab_bytes = random.Below(2) > 0 ? kPageBytes : 16 * kPageBytes;
          id = blocks.TakeCold(size_bytes, alignment, slab_bytes, extents);
          if (id != OffsetAllocator::kNone && random.Below(10) == 0) {
            blocks.Abandon(id, extents);
            id = OffsetAllocator::kNone;
          }
        }
        if (id != OffsetAllocator::kNone) {
          ASSERT_EQ(blocks.node(id).size_bytes, size_bytes);
          ASSERT_EQ(blocks.node(id).offset_bytes % alignment, 0);
          live.push_back(id);
        }
      } else if (kind < 98 && !live.empty()) {
        std::swap(live[static_cast<size_t>(random.Below(std::ssize(live)))], live.back());
        ASSERT_TRUE(blocks.IsLive(live.back(), blocks.node(live.back()).generation));
        blocks.Free(live.back());
        live.pop_back();
      } else {
        blocks.Chill(random.Size(20), extents);
      }
      extents.clear();
      VerifyBlocks(blocks, begin_bytes, end_bytes, kPageBytes);
      if (HasFatalFailure()) return;
    }
  }
}

// What the pool may grant, the naive model finds room for, and the other way round.
TEST(DynamicPool, RandomTracesAgreeWithTheNaiveModel) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    auto owned = std::make_unique<CheckedRange>(3 * kMiB, kPageBytes);
    CheckedRange& range = *owned;
    const auto pool = DynamicPool::Create(std::move(owned), {.slab_bytes = 64 * 1024});
    ASSERT_TRUE(pool.ok()) << pool.status();
    LiveModel model(3 * kMiB);
    int64_t failed = 0;
    for (int step = 0; step < 4000; ++step) {
      const int64_t kind = random.Below(100);
      if (kind < 54) {
        const int64_t size_bytes = random.Size(19), alignment = random.Alignment(15);
        const auto block = (*pool)->Allocate(size_bytes, alignment);
        ASSERT_EQ(block.ok(),
                  model.HasRoom((size_bytes + 63) / 64 * 64, std::max<int64_t>(64, alignment)))
            << "step " << step << ": " << size_bytes << " aligned to " << alignment << ": "
            << block.status();
        if (block.ok()) {
          model.Add(*block, size_bytes, alignment);
          EXPECT_TRUE(range.IsCommitted(block->offset_bytes, block->size_bytes));
        } else {
          ++failed;
        }
      } else if (kind < 99 && !model.live().empty()) {
        const PoolBlock block =
            model.RemoveNth(static_cast<size_t>(random.Below(std::ssize(model.live()))));
        ASSERT_TRUE((*pool)->Free(block).ok());
        EXPECT_FALSE((*pool)->Free(block).ok());
      } else if (kind == 99) {
        (*pool)->Trim();
        for (const auto& [offset, block] : model.live()) {
          EXPECT_TRUE(range.IsCommitted(offset, block.size_bytes));
        }
        // Only the ends of blocks lie in pages that are not theirs alone.
        EXPECT_LE(range.committed_bytes(),
                  model.live_bytes() + 2 * kPageBytes * std::ssize(model.live()));
      }
      const DynamicPoolStatistics statistics = (*pool)->statistics();
      ASSERT_EQ(statistics.live_bytes, model.live_bytes());
      ASSERT_EQ(statistics.reserved_bytes, range.committed_bytes());
      ASSERT_EQ(statistics.failed, failed);
      if (HasFailure()) return;
    }
    EXPECT_GT(failed, 0) << "the trace never reached the limit";
  }
}

TEST(DynamicPool, MemoryThatTheSystemRefusesLeavesThePoolAsItWas) {
  auto owned = std::make_unique<CheckedRange>(64 * kMiB, kPageBytes);
  CheckedRange& range = *owned;
  const auto pool = DynamicPool::Create(std::move(owned));
  ASSERT_TRUE(pool.ok());
  const auto kept = (*pool)->Allocate(kMiB);
  ASSERT_TRUE(kept.ok());
  range.refuse_commits = 1;
  EXPECT_EQ((*pool)->Allocate(8 * kMiB).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*pool)->statistics().failed, 1);
  EXPECT_EQ((*pool)->statistics().live_bytes, kMiB);
  EXPECT_EQ((*pool)->statistics().reserved_bytes, range.committed_bytes());
  EXPECT_TRUE(range.IsCommitted(kept->offset_bytes, kept->size_bytes));
  EXPECT_TRUE((*pool)->Allocate(8 * kMiB).ok());
  EXPECT_EQ((*pool)->statistics().reserved_bytes, range.committed_bytes());
}

// Holes never make a pool over plenty of addresses fail: only bytes count.
TEST(DynamicPool, AllOfTheLimitCanBeHadHoweverFragmented) {
  constexpr int64_t kPages = 512;
  const auto pool = DynamicPool::Create({.limit_bytes = kPages * kPageBytes, .lanes = 3});
  ASSERT_TRUE(pool.ok()) << pool.status();
  std::vector<PoolBlock> blocks;
  for (int i = 0; i < kPages; ++i) {
    const auto block = (*pool)->Allocate(kPageBytes, 64, i % 3);
    ASSERT_TRUE(block.ok()) << block.status();
    blocks.push_back(*block);
  }
  EXPECT_FALSE((*pool)->Allocate(1).ok());
  for (size_t i = 0; i < blocks.size(); i += 2) ASSERT_TRUE((*pool)->Free(blocks[i]).ok());
  const auto half = (*pool)->Allocate(kPages / 2 * kPageBytes, 64, 1);
  ASSERT_TRUE(half.ok()) << half.status();
  std::memset((*pool)->data(*half), 1, static_cast<size_t>(half->size_bytes));
  EXPECT_LE((*pool)->statistics().peak_reserved_bytes, kPages * kPageBytes);
}

struct Replayed {
  DynamicPoolStatistics statistics;
  int64_t peak_after_warm_up_bytes = 0;
};

Replayed ReplayTensors(DynamicPool& pool, const TensorTraceOptions& options, size_t warm_up) {
  std::vector<PoolBlock> blocks(static_cast<size_t>(options.inferences) *
                                static_cast<size_t>(options.ops));
  Replayed result;
  for (const PoolEvent& event : MakeTensorTrace(options)) {
    PoolBlock& block = blocks[static_cast<size_t>(event.id)];
    if (event.kind == PoolEvent::Kind::kFree) {
      EXPECT_TRUE(pool.Free(block).ok());
    } else {
      block = *pool.Allocate(event.size_bytes, event.alignment);
    }
    if (static_cast<size_t>(event.id) == warm_up * static_cast<size_t>(options.ops)) {
      result.peak_after_warm_up_bytes = pool.statistics().peak_reserved_bytes;
    }
  }
  result.statistics = pool.statistics();
  return result;
}

TEST(DynamicPool, ReservesAtMostATenthMoreThanIsLiveOnTensors) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto pool = DynamicPool::Create(MakeVirtualRange(int64_t{1} << 40));
    ASSERT_TRUE(pool.ok());
    const Replayed replayed =
        ReplayTensors(**pool, {.seed = seed, .inferences = 200, .ops = 150}, 0);
    EXPECT_LE(static_cast<double>(replayed.statistics.peak_reserved_bytes),
              1.10 * static_cast<double>(replayed.statistics.peak_live_bytes));
    EXPECT_EQ(replayed.statistics.live_bytes, 0);
    (*pool)->Trim();
    EXPECT_EQ((*pool)->statistics().reserved_bytes, 0);
  }
}

TEST(DynamicPool, DoesNotGrowOverTenThousandShapes) {
  const auto pool = DynamicPool::Create(MakeVirtualRange(int64_t{1} << 40));
  ASSERT_TRUE(pool.ok());
  constexpr size_t kWarmUp = 200;
  // Shapes of one network: 64 batches, drawn ten thousand times.
  const Replayed replayed =
      ReplayTensors(**pool, {.seed = 5, .inferences = 10'000, .ops = 12, .batch_max = 64}, kWarmUp);
  EXPECT_EQ(replayed.statistics.peak_reserved_bytes, replayed.peak_after_warm_up_bytes);
}

// Threads allocate in lanes of their own and free what others made; every block keeps its bytes.
TEST(DynamicPool, ThreadsShareIt) {
  constexpr int kThreads = 4, kSteps = 3000;
  const auto pool = DynamicPool::Create({.limit_bytes = 64 * kMiB, .lanes = 3});
  ASSERT_TRUE(pool.ok()) << pool.status();
  std::mutex mutex;
  std::deque<PoolBlock> shared;
  const auto work = [&](uint64_t seed) {
    Random random(seed);
    const int lane = (*pool)->AssignLane();
    for (int step = 0; step < kSteps; ++step) {
      if (const auto block = (*pool)->Allocate(random.Size(16), 64, lane); block.ok()) {
        std::memset((*pool)->data(*block), static_cast<int>(block->handle & 0xff),
                    static_cast<size_t>(block->size_bytes));
        const std::lock_guard lock(mutex);
        shared.push_back(*block);
      }
      if (random.Below(500) == 0) (*pool)->Trim();
      PoolBlock old;
      {
        const std::lock_guard lock(mutex);
        if (shared.size() < 64) continue;
        old = shared.front();
        shared.pop_front();
      }
      const std::byte* data = (*pool)->data(old);
      EXPECT_EQ(data[0], static_cast<std::byte>(old.handle & 0xff));
      EXPECT_EQ(data[old.size_bytes - 1], static_cast<std::byte>(old.handle & 0xff));
      EXPECT_TRUE((*pool)->Free(old).ok());
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
  for (const PoolBlock& block : shared) EXPECT_TRUE((*pool)->Free(block).ok());
  EXPECT_EQ((*pool)->statistics().live_bytes, 0);
  EXPECT_EQ((*pool)->statistics().allocations, (*pool)->statistics().frees);
  (*pool)->Trim();
  EXPECT_EQ((*pool)->statistics().reserved_bytes, 0);
}

}  // namespace
}  // namespace berth
