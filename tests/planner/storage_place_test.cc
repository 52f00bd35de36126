// Offsets of the pool's buffers: with a search, with a brief one, and stopped.
#include <gtest/gtest.h>

#include <atomic>

#include "planner/schedule/place.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

// As many buffers as keep the search busy to the end of its budget.
StoragePlan BusyStorage() {
  StoragePlan storage;
  const PoolProblem problem = testing::RandomPoolProblem(
      7, {.item_count = 600, .step_count = 200, .longest_steps = 60, .largest_bytes = 100'000});
  for (const PoolItem& item : problem.items) {
    StorageBuffer buffer;
    buffer.size_bytes = item.size_bytes;
    buffer.begin_step = static_cast<int>(item.begin_step);
    buffer.end_step = static_cast<int>(item.end_step);
    buffer.name = item.name;
    storage.buffers.push_back(std::move(buffer));
  }
  return storage;
}

TEST(PlacePool, SearchesBrieflyWhereItIsTold) {
  StoragePlan storage = BusyStorage();
  const auto found = PlacePool(storage, {});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto brief = PlacePool(storage, {.search = false});
  ASSERT_TRUE(brief.ok()) << brief.status();
  EXPECT_LT(brief->work_units * 5, found->work_units);
  EXPECT_GE(brief->height_bytes, found->height_bytes);
  EXPECT_LE(brief->height_bytes, found->height_bytes * 11 / 10);
  EXPECT_TRUE(brief->is_reproducible);
  int64_t end_bytes = 0;
  for (const StorageBuffer& buffer : storage.buffers) {
    end_bytes = std::max(end_bytes, buffer.offset_bytes + buffer.size_bytes);
  }
  EXPECT_EQ(end_bytes, brief->height_bytes);
}

TEST(PlacePool, ALimitIsWorthTheWholeSearch) {
  StoragePlan storage = BusyStorage();
  const auto found = PlacePool(storage, {});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto within = PlacePool(storage, {.budget_bytes = found->height_bytes, .search = false});
  ASSERT_TRUE(within.ok()) << within.status();
  EXPECT_LE(within->height_bytes, found->height_bytes);
}

TEST(PlacePool, StopsWhenItIsTold) {
  StoragePlan storage = BusyStorage();
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(absl::IsCancelled(PlacePool(storage, {.stop = {.cancel = &cancel}}).status()));
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      PlacePool(storage, {.budget_bytes = 1 << 20, .stop = {.deadline = now}}).status()));
}

}  // namespace
}  // namespace berth
