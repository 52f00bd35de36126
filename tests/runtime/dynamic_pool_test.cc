// The dynamic pool: blocks, limits, errors, statistics.
#include "runtime/pool/dynamic_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "tests/runtime/sanitizer_builds.h"

namespace berth {
namespace {

constexpr int64_t kMiB = 1024 * 1024;

TEST(DynamicPool, BlocksAreAlignedWritableAndApart) {
  const auto pool = DynamicPool::Create();
  ASSERT_TRUE(pool.ok()) << pool.status();
  std::vector<PoolBlock> blocks;
  for (const int64_t size_bytes : {1, 0, 64, 5000, 3'000'000, 17}) {
    for (const int64_t alignment : {1, 64, 4096}) {
      const auto block = (*pool)->Allocate(size_bytes, alignment);
      ASSERT_TRUE(block.ok()) << block.status();
      EXPECT_GE(block->size_bytes, size_bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>((*pool)->data(*block)) % uintptr_t(alignment), 0u);
      std::memset((*pool)->data(*block), 0x5a, static_cast<size_t>(block->size_bytes));
      for (const PoolBlock& other : blocks) {
        EXPECT_TRUE(other.offset_bytes + other.size_bytes <= block->offset_bytes ||
                    block->offset_bytes + block->size_bytes <= other.offset_bytes);
      }
      blocks.push_back(*block);
    }
  }
  for (const PoolBlock& block : blocks) EXPECT_TRUE((*pool)->Free(block).ok());
  EXPECT_EQ((*pool)->statistics().live_bytes, 0);
  (*pool)->Trim();
  EXPECT_EQ((*pool)->statistics().reserved_bytes, 0);
}

// Where a process may not address a tebibyte (ulimit -v), the pool takes what it gets.
TEST(DynamicPool, TakesFewerAddressesWhereThereAreFewer) {
#if BERTH_IS_SANITIZED
  GTEST_SKIP() << "sanitizers take more addresses themselves";
#endif
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = rlim_t{64} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const auto pool = DynamicPool::Create();
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_TRUE((*pool)->Allocate(kMiB).ok());
}

TEST(DynamicPool, TheLimitIsHardAndItsErrorSaysAllFourNumbers) {
  const auto pool = DynamicPool::Create({.limit_bytes = 4 * kMiB});
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto first = (*pool)->Allocate(3 * kMiB);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = (*pool)->Allocate(2 * kMiB);
  ASSERT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  const std::string message(second.status().message());
  EXPECT_NE(message.find("2097152 bytes needed, 3145728 live"), std::string::npos) << message;
  EXPECT_NE(message.find("limit 4194304"), std::string::npos) << message;
  EXPECT_EQ((*pool)->statistics().failed, 1);
  ASSERT_TRUE((*pool)->Free(*first).ok());
  EXPECT_TRUE((*pool)->Allocate(4 * kMiB).ok());
  EXPECT_LE((*pool)->statistics().peak_reserved_bytes, 4 * kMiB);
}

TEST(DynamicPool, WrongCallsAreErrorsAndChangeNothing) {
  const auto pool = DynamicPool::Create();
  ASSERT_TRUE(pool.ok()) << pool.status();
  for (const auto& [size_bytes, alignment] :
       std::vector<std::pair<int64_t, int64_t>>{{-1, 64}, {64, 0}, {64, 48}, {64, -64}}) {
    EXPECT_EQ((*pool)->Allocate(size_bytes, alignment).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ((*pool)->Allocate(INT64_MAX).status().code(), absl::StatusCode::kResourceExhausted);
  const auto block = (*pool)->Allocate(100);
  ASSERT_TRUE(block.ok());
  PoolBlock forged = *block;
  forged.handle += 12345;
  EXPECT_EQ((*pool)->Free(forged).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*pool)->Free(*block).ok());
  EXPECT_EQ((*pool)->Free(*block).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*pool)->statistics().live_bytes, 0);
  EXPECT_FALSE(DynamicPool::Create({.limit_bytes = -1}).ok());
  EXPECT_FALSE(DynamicPool::Create({.slab_bytes = 0}).ok());
}

TEST(DynamicPool, ARangeThatTheHostCannotReach) {
  const auto pool = DynamicPool::Create(MakeVirtualRange(kMiB));
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ((*pool)->base(), nullptr);
  EXPECT_TRUE((*pool)->Allocate(kMiB).ok());
  EXPECT_FALSE((*pool)->Allocate(1).ok());
}

}  // namespace
}  // namespace berth
