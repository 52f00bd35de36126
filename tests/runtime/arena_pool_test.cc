// Arenas are leased within the limit, in turn, and used again.
#include "berth/arena_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace berth {
namespace {

constexpr int64_t kKiB = 1024;

ArenaPoolOptions Limited(int64_t limit_bytes, bool wait) {
  ArenaPoolOptions options;
  options.limit_bytes = limit_bytes;
  options.wait = wait;
  return options;
}

// Blocks until so many callers have had to wait.
void AwaitWaiters(const ArenaPool& pool, int64_t count) {
  while (pool.statistics().waits < count) std::this_thread::yield();
}

TEST(ArenaPool, LeasesAreAlignedApartAndPoisoned) {
  ArenaPool pool;
  absl::StatusOr<ArenaLease> a = pool.Lease(100), b = pool.Lease(0);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->size_bytes(), 128);
  EXPECT_EQ(b->size_bytes(), 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data()) % 64, 0u);
  EXPECT_NE(a->data(), b->data());
  float value = 0;
  std::memcpy(&value, a->data(), sizeof(value));
  EXPECT_NE(value, value);  // NaN
}

TEST(ArenaPool, AtTheLimitWithoutWaitingItRefusesWithNumbers) {
  ArenaPool pool(Limited(4 * kKiB, false));
  absl::StatusOr<ArenaLease> held = pool.Lease(3 * kKiB);
  ASSERT_TRUE(held.ok());
  const absl::Status refused = pool.Lease(2 * kKiB).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  for (const char* number : {"2048", "3072", "4096"}) {
    EXPECT_NE(refused.message().find(number), absl::string_view::npos) << number << ": " << refused;
  }
  EXPECT_TRUE(pool.Lease(1 * kKiB).ok());
  held->Release();
  EXPECT_TRUE(pool.Lease(2 * kKiB).ok());
}

TEST(ArenaPool, WhatNeverFitsIsRefusedAtOnceThoughWaitingIsAllowed) {
  ArenaPool pool(Limited(4 * kKiB, true));
  const absl::Status refused = pool.Lease(5 * kKiB).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_NE(refused.message().find("5120"), absl::string_view::npos) << refused;
  EXPECT_EQ(pool.statistics().waits, 0);
}

TEST(ArenaPool, WaitersAreServedInTheOrderOfTheirComing) {
  ArenaPool pool(Limited(4 * kKiB, true));
  absl::StatusOr<ArenaLease> held = pool.Lease(4 * kKiB);
  ASSERT_TRUE(held.ok());
  std::vector<int> order;  // each waiter needs the whole limit, so they take turns
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&pool, &order, i] {
      absl::StatusOr<ArenaLease> lease = pool.Lease(4 * kKiB);
      EXPECT_TRUE(lease.ok()) << lease.status();
      order.push_back(i);
    });
    AwaitWaiters(pool, i + 1);
  }
  held->Release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(ArenaPool, ASmallRequestDoesNotOvertakeALargeOneThatWaits) {
  ArenaPool pool(Limited(4 * kKiB, true));
  absl::StatusOr<ArenaLease> held = pool.Lease(2 * kKiB);
  std::atomic<bool> large_served{false};
  std::thread large([&] {
    absl::StatusOr<ArenaLease> lease = pool.Lease(4 * kKiB);
    large_served = lease.ok();
  });
  AwaitWaiters(pool, 1);
  std::thread small([&] {  // would fit at once
    EXPECT_TRUE(pool.Lease(1 * kKiB).ok());
    EXPECT_TRUE(large_served);
  });
  AwaitWaiters(pool, 2);
  held->Release();
  large.join();
  small.join();
}

TEST(ArenaPool, ReturnedArenasAreUsedAgain) {
  ArenaPool pool;
  std::byte *large = nullptr, *small = nullptr;
  {
    absl::StatusOr<ArenaLease> a = pool.Lease(8 * kKiB), b = pool.Lease(2 * kKiB);
    large = a->data();
    small = b->data();
  }
  absl::StatusOr<ArenaLease> again = pool.Lease(1 * kKiB);  // the smallest that is large enough
  EXPECT_EQ(again->data(), small);
  absl::StatusOr<ArenaLease> other = pool.Lease(1 * kKiB);
  EXPECT_EQ(other->data(), large);
  EXPECT_EQ(other->size_bytes(), 8 * kKiB);
  EXPECT_EQ(pool.statistics().reuses, 2);
}

TEST(ArenaPool, IdleArenasMakeRoomUnderTheLimit) {
  ArenaPool pool(Limited(4 * kKiB, false));
  EXPECT_TRUE(pool.Lease(2 * kKiB).ok());
  EXPECT_EQ(pool.statistics().idle_bytes, 2 * kKiB);
  absl::StatusOr<ArenaLease> larger = pool.Lease(4 * kKiB);
  ASSERT_TRUE(larger.ok()) << larger.status();
  EXPECT_EQ(pool.statistics().idle_bytes, 0);
  EXPECT_LE(pool.statistics().peak_bytes, 4 * kKiB);
}

TEST(ArenaPool, TrimFreesWhatIsIdle) {
  ArenaPool pool;
  {
    absl::StatusOr<ArenaLease> a = pool.Lease(1 * kKiB), b = pool.Lease(1 * kKiB),
                               c = pool.Lease(1 * kKiB);
  }
  EXPECT_EQ(pool.statistics().idle_bytes, 3 * kKiB);
  pool.Trim(2 * kKiB);
  EXPECT_EQ(pool.statistics().idle_bytes, 2 * kKiB);
  pool.Trim();
  EXPECT_EQ(pool.statistics().idle_bytes, 0);
}

TEST(ArenaPool, KeepIdleBytesTrimsOnReturn) {
  ArenaPoolOptions options;
  options.keep_idle_bytes = 0;
  ArenaPool pool(options);
  EXPECT_TRUE(pool.Lease(1 * kKiB).ok());
  EXPECT_EQ(pool.statistics().idle_bytes, 0);
}

TEST(ArenaPool, StatisticsCount) {
  ArenaPool pool;
  {
    absl::StatusOr<ArenaLease> a = pool.Lease(1 * kKiB);
    absl::StatusOr<ArenaLease> b = pool.Lease(2 * kKiB);
    EXPECT_EQ(pool.statistics().leased_bytes, 3 * kKiB);
    ArenaLease moved = *std::move(a);
    EXPECT_EQ(a->data(), nullptr);  // NOLINT: moved from
    EXPECT_EQ(pool.statistics().leased_bytes, 3 * kKiB);
  }
  const ArenaPoolStatistics after = pool.statistics();
  EXPECT_EQ(after.leased_bytes, 0);
  EXPECT_EQ(after.idle_bytes, 3 * kKiB);
  EXPECT_EQ(after.peak_bytes, 3 * kKiB);
  EXPECT_EQ(after.leases, 2);
  EXPECT_EQ(after.reuses, 0);
  EXPECT_EQ(after.waits, 0);
}

TEST(ArenaPool, ManyThreadsStayWithinTheLimit) {
  ArenaPool pool(Limited(8 * kKiB, true));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 200; ++i) {
        const int64_t bytes = ((t + i) % 5 + 1) * kKiB;
        absl::StatusOr<ArenaLease> lease = pool.Lease(bytes);
        ASSERT_TRUE(lease.ok()) << lease.status();
        std::memset(lease->data(), t, static_cast<size_t>(bytes));
        EXPECT_EQ(lease->data()[bytes - 1], static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().leased_bytes, 0);
  EXPECT_EQ(pool.statistics().leases, 800);
  EXPECT_LE(pool.statistics().peak_bytes, 8 * kKiB);
}

TEST(ArenaPool, ADeadlineEndsAWaitAndTheNextInTurnIsServed) {
  ArenaPool pool(Limited(4 * kKiB, true));
  absl::StatusOr<ArenaLease> held = pool.Lease(2 * kKiB);
  std::thread impatient([&] {  // stands in front, and does not fit
    StopConditions stop;
    stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    const absl::Status late = pool.Lease(4 * kKiB, stop).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
    EXPECT_NE(late.message().find("4096"), absl::string_view::npos) << late;
  });
  AwaitWaiters(pool, 1);
  EXPECT_TRUE(pool.Lease(2 * kKiB).ok());  // waits behind it, and fits
  impatient.join();
  EXPECT_EQ(pool.statistics().stopped, 1);
}

TEST(ArenaPool, ACancelEndsAWaitWhenTheWaitersAreWoken) {
  ArenaPool pool(Limited(4 * kKiB, true));
  absl::StatusOr<ArenaLease> held = pool.Lease(4 * kKiB);
  std::atomic<bool> cancel{false};
  std::thread waiter([&] {
    EXPECT_TRUE(absl::IsCancelled(pool.Lease(4 * kKiB, {&cancel, {}}).status()));
  });
  AwaitWaiters(pool, 1);
  cancel = true;
  pool.WakeWaiters();
  waiter.join();
  held->Release();
  EXPECT_TRUE(pool.Lease(4 * kKiB).ok());
}

TEST(ArenaPool, WhatIsIdleForTooLongIsFreedInPassing) {
  ArenaPoolOptions options;
  options.keep_idle_for = std::chrono::milliseconds(1);
  ArenaPool pool(options);
  EXPECT_TRUE(pool.Lease(2 * kKiB).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(pool.Lease(1 * kKiB).ok());
  EXPECT_EQ(pool.statistics().idle_bytes, 1 * kKiB);
  EXPECT_EQ(pool.statistics().trimmed_bytes, 2 * kKiB);
  EXPECT_EQ(pool.statistics().reuses, 0);
}

TEST(ArenaPool, SizesThatNobodyHasAreRefused) {
  ArenaPool pool;
  for (const int64_t bytes : {INT64_MAX, INT64_MAX / 4}) {
    EXPECT_TRUE(absl::IsResourceExhausted(pool.Lease(bytes).status())) << bytes;
  }
  EXPECT_EQ(pool.statistics().leased_bytes, 0);
  EXPECT_EQ(pool.statistics().refused, 2);
  EXPECT_TRUE(pool.Lease(1).ok());
}

}  // namespace
}  // namespace berth
