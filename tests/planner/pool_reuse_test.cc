#include <gtest/gtest.h>

#include "planner/pool/plan_pool.h"
#include "planner/pool/reuse_distance.h"
#include "planner/pool/verify.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::RandomPoolProblem;

const PoolOptions kQuick = {.work_limit_units = 1'000'000};

PoolPlan MustPlan(const PoolProblem& problem, const PoolOptions& options = kQuick) {
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus()) << DumpPoolPlan(problem, *plan);
  return *plan;
}

// One buffer after another, each of them dead before the next begins.
PoolProblem Chain(int count, int64_t size_bytes, int64_t capacity_bytes) {
  PoolProblem problem = {{}, capacity_bytes, PoolObjective::kFitThenReuse};
  for (int i = 0; i < count; ++i) {
    problem.items.push_back(
        {.id = i, .begin_step = i, .end_step = i + 1, .size_bytes = size_bytes});
  }
  return problem;
}

TEST(PoolReuseTest, RotatesThroughTheWholeMemory) {
  const PoolPlan plan = MustPlan(Chain(20, 10, 50));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(plan.offset_bytes[i], i % 5 * 10) << i;
  EXPECT_EQ(plan.reuse.reused_count, 15);
  EXPECT_EQ(plan.reuse.min_distance_steps, 4);
  EXPECT_DOUBLE_EQ(plan.reuse.mean_distance_steps, 4);
}

TEST(PoolReuseTest, KeepsOffALongLivedBuffer) {
  PoolProblem problem = Chain(20, 10, 50);
  problem.items.push_back({.id = 20, .begin_step = 0, .end_step = 20, .size_bytes = 20});
  const PoolPlan plan = MustPlan(problem);
  EXPECT_LE(plan.height_bytes, 50);
  EXPECT_EQ(plan.reuse.min_distance_steps, 2);
}

// Buffers of 10 bytes in banks of 20, used two and two by one command.
PoolProblem Pairs(int count, int64_t capacity_bytes) {
  PoolProblem problem = {{}, capacity_bytes, PoolObjective::kFitThenReuse};
  for (int i = 0; i < count; ++i) {
    problem.items.push_back(
        {.id = i, .begin_step = i / 2, .end_step = i / 2 + 1, .size_bytes = 10});
    problem.items.back().used_with = {i ^ 1};
  }
  return problem;
}

TEST(PoolReuseTest, WhatIsUsedTogetherStandsInBanksOfItsOwn) {
  PoolProblem problem = Pairs(12, 80);
  const auto shared_banks = [&] {
    const PoolPlan plan = MustPlan(problem);
    int count = 0;
    for (size_t i = 0; i < 12; i += 2) {
      if (plan.offset_bytes[i] / 20 == plan.offset_bytes[i + 1] / 20) ++count;
    }
    return count;
  };
  EXPECT_EQ(shared_banks(), 6);  // the lowest window of equal rest is the one beside
  problem.bank_bytes = 20;
  EXPECT_EQ(shared_banks(), 0);
}

TEST(PoolReuseTest, BanksNeverCostThePlan) {
  PoolProblem problem = Pairs(12, 20);  // one bank
  problem.bank_bytes = 20;
  EXPECT_LE(MustPlan(problem).height_bytes, 20);
  problem.items[3].used_with = {12};
  EXPECT_TRUE(absl::IsInvalidArgument(PlanPool(problem, kQuick).status()));
}

// Scattering small buffers leaves no room for the large one at step 8; less rest does.
TEST(PoolReuseTest, GivesUpRestWhereItMustToFit) {
  PoolProblem problem = Chain(8, 10, 100);
  for (int i = 0; i < 8; ++i) problem.items[i].end_step = i % 4 == 0 ? 20 : i + 1;
  problem.items.push_back({.id = 8, .begin_step = 8, .end_step = 9, .size_bytes = 75});
  const PoolPlan plan = MustPlan(problem);
  EXPECT_EQ(plan.method, "reuse distance");
  EXPECT_LE(plan.height_bytes, 100);
}

TEST(PoolReuseTest, FallsBackToTheLowestHeight) {
  int fallbacks = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 60,
                                 .step_count = 40,
                                 .longest_steps = 30,
                                 .largest_alignment_bytes = 8,
                                 .alias_group_count = static_cast<int>(seed % 3) * 4});
    const PoolPlan lowest = MustPlan(problem);
    problem.objective = PoolObjective::kFitThenReuse;
    problem.capacity_bytes = lowest.height_bytes;
    const PoolPlan tight = MustPlan(problem);
    EXPECT_LE(tight.height_bytes, lowest.height_bytes);
    fallbacks += tight.method != "reuse distance" ? 1 : 0;
    problem.capacity_bytes = 2 * lowest.height_bytes;
    const PoolPlan roomy = MustPlan(problem);
    EXPECT_EQ(roomy.method, "reuse distance");
    EXPECT_LT(roomy.reuse.reused_count, tight.reuse.reused_count);
    if (roomy.reuse.reused_count == 0) continue;
    EXPECT_GT(roomy.reuse.mean_distance_steps, tight.reuse.mean_distance_steps);
  }
  EXPECT_GT(fallbacks, 0);
}

TEST(PoolReuseTest, GoesAroundFixedBuffers) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem = RandomPoolProblem(seed, {.item_count = 60, .alias_group_count = 3});
    const PoolPlan lowest = MustPlan(problem);
    for (size_t i = 0; i < problem.items.size(); i += 6) {
      problem.items[i].fixed_offset_bytes = lowest.offset_bytes[i];
    }
    problem.objective = PoolObjective::kFitThenReuse;
    problem.capacity_bytes = 2 * lowest.height_bytes;
    EXPECT_EQ(MustPlan(problem).method, "reuse distance");
  }
}

TEST(PoolReuseTest, MeasuresEachByteOnce) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 2, .size_bytes = 8});
  problem.items.push_back({.begin_step = 0, .end_step = 5, .size_bytes = 8});
  problem.items.push_back({.begin_step = 9, .end_step = 10, .size_bytes = 16});
  const BlockSet set = MakeBlocks(problem);
  const int64_t offsets[] = {0, 8, 0};
  const PoolReuse reuse = MeasureReuse(set, offsets);
  EXPECT_EQ(reuse.reused_count, 1);
  EXPECT_EQ(reuse.min_distance_steps, 4);  // of the bytes that were left last, at step 5
}

PoolProblem ShortLivedBuffers(int count, int64_t capacity_bytes) {
  PoolProblem problem = RandomPoolProblem(11, {.item_count = count,
                                               .step_count = count,
                                               .longest_steps = 12,
                                               .largest_bytes = 16 * 1024,
                                               .largest_alignment_bytes = 64});
  problem.capacity_bytes = capacity_bytes;
  problem.objective = PoolObjective::kFitThenReuse;
  return problem;
}

// The compiler asks several times for each compile: some 20 ms each. In units, since tests share
// machines.
TEST(PoolReuseTest, TwentyThousandShortLivedBuffersTakeLittleWork) {
  const absl::StatusOr<PoolPlan> plan = PlanPool(ShortLivedBuffers(20'000, 384 * 1024));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->method, "reuse distance");
  EXPECT_LT(plan->work_units, 8'000'000);
}

}  // namespace
}  // namespace berth
