#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::BruteForceHeight;
using ::berth::testing::RandomPoolProblem;
using ::berth::testing::RandomPoolSpec;
using ::testing::HasSubstr;

PoolPlan MustPlan(const PoolProblem& problem, const PoolOptions& options = {}) {
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus()) << DumpPoolPlan(problem, *plan);
  return *plan;
}

TEST(PoolPlanTest, TinyProblemsAreSolvedToTheOptimum) {
  int missed = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 7,
                                 .step_count = 8,
                                 .longest_steps = 5,
                                 .largest_bytes = 20,
                                 .largest_alignment_bytes = int64_t{1} << seed % 3});
    const PoolPlan plan = MustPlan(problem, {.work_limit_units = 100'000});
    const int64_t optimum_bytes = BruteForceHeight(problem);
    EXPECT_LE(plan.lower_bound_bytes, optimum_bytes);
    EXPECT_GE(plan.height_bytes, optimum_bytes);
    missed += plan.height_bytes > optimum_bytes ? 1 : 0;
  }
  EXPECT_LE(missed, 2);
}

TEST(PoolPlanTest, PlansOfEveryShapeVerify) {
  const RandomPoolSpec specs[] = {
      {.item_count = 1},
      {.item_count = 60},
      {.item_count = 80, .largest_alignment_bytes = 64},
      {.item_count = 80, .alias_group_count = 6},
      {.item_count = 120,
       .longest_steps = 30,
       .largest_alignment_bytes = 16,
       .alias_group_count = 20},
  };
  for (const RandomPoolSpec& spec : specs) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(::testing::Message() << spec.item_count << " items, seed " << seed);
      MustPlan(RandomPoolProblem(seed, spec), {.work_limit_units = 300'000});
    }
  }
}

// Fixes some items of a solved problem where they lie.
PoolProblem WithFixedItems(PoolProblem problem, const PoolPlan& plan, size_t every) {
  for (size_t i = 0; i < problem.items.size(); i += every) {
    problem.items[i].fixed_offset_bytes = plan.offset_bytes[i];
  }
  return problem;
}

TEST(PoolPlanTest, GoesAroundFixedItems) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const RandomPoolSpec spec = {.item_count = 60, .alias_group_count = static_cast<int>(seed % 4)};
    const PoolProblem problem = RandomPoolProblem(seed, spec);
    const PoolOptions options = {.work_limit_units = 300'000};
    const PoolPlan plan = MustPlan(problem, options);
    MustPlan(WithFixedItems(problem, plan, 5), options);
    const PoolPlan all_fixed = MustPlan(WithFixedItems(problem, plan, 1), options);
    EXPECT_EQ(all_fixed.offset_bytes, plan.offset_bytes);
  }
}

TEST(PoolPlanTest, TakesHintsAtTheirWord) {
  PoolProblem problem = RandomPoolProblem(5, {.item_count = 150, .longest_steps = 25});
  const PoolPlan good = MustPlan(problem);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    problem.items[i].hint_offset_bytes = good.offset_bytes[i];
  }
  const PoolPlan again = MustPlan(problem, {.work_limit_units = 1});
  EXPECT_LE(again.height_bytes, good.height_bytes);
}

TEST(PoolPlanTest, IsDeterministic) {
  const PoolProblem problem = RandomPoolProblem(3, {.item_count = 150, .longest_steps = 20});
  const PoolOptions options = {.work_limit_units = 2'000'000, .seed = 7};
  const PoolPlan first = MustPlan(problem, options), second = MustPlan(problem, options);
  EXPECT_EQ(DumpPoolPlan(problem, first), DumpPoolPlan(problem, second));
  EXPECT_EQ(first.work_units, second.work_units);
  EXPECT_TRUE(first.is_reproducible);
}

TEST(PoolPlanTest, MoreWorkIsNeverWorse) {
  const PoolProblem problem = RandomPoolProblem(4, {.item_count = 150, .longest_steps = 25});
  int64_t last_bytes = INT64_MAX;
  for (int64_t work : {1, 100'000, 1'000'000, 4'000'000}) {
    const PoolPlan plan = MustPlan(problem, {.work_limit_units = work});
    EXPECT_LE(plan.height_bytes, last_bytes);
    last_bytes = plan.height_bytes;
  }
}

TEST(PoolPlanTest, StopsWhenToldAndSaysSo) {
  const PoolProblem problem = RandomPoolProblem(4, {.item_count = 150, .longest_steps = 25});
  PoolOptions options;
  options.should_stop = [] { return true; };
  const PoolPlan plan = MustPlan(problem, options);
  EXPECT_FALSE(plan.is_reproducible);
  EXPECT_EQ(plan.offset_bytes.size(), problem.items.size());
}

TEST(PoolPlanTest, ProvesThatACapacityIsTooSmall) {
  PoolProblem problem;
  problem.items.push_back(
      {.id = 10, .begin_step = 0, .end_step = 4, .size_bytes = 40, .name = "a"});
  problem.items.push_back(
      {.id = 11, .begin_step = 2, .end_step = 6, .size_bytes = 70, .name = "b"});
  problem.items.push_back(
      {.id = 12, .begin_step = 5, .end_step = 7, .size_bytes = 30, .name = "c"});
  for (PoolObjective objective :
       {PoolObjective::kLowestHeight, PoolObjective::kFit, PoolObjective::kFitThenReuse}) {
    problem.objective = objective;
    problem.capacity_bytes = 100;
    const PoolPlan plan = MustPlan(problem);
    EXPECT_EQ(plan.status, PoolStatus::kInfeasible);
    ASSERT_TRUE(plan.conflict.has_value());
    EXPECT_EQ(plan.conflict->step, 2);
    EXPECT_EQ(plan.conflict->items, (std::vector<int64_t>{1, 0}));
    EXPECT_EQ(plan.conflict->required_bytes, 110);
    EXPECT_EQ(plan.conflict->excess_bytes, 10);
    EXPECT_THAT(DescribeConflict(problem, plan), HasSubstr("'b' (item 11) 70 bytes"));
    problem.capacity_bytes = 110;
    const PoolPlan fitting = MustPlan(problem);
    EXPECT_EQ(fitting.status, PoolStatus::kOptimal);
    EXPECT_FALSE(fitting.conflict.has_value());
  }
}

// Never more than 4 bytes are live, but 4 do not do: two halves make a, b and c, d neighbours, the
// third half makes a, c neighbours, and that leaves b and d apart for the fourth.
PoolProblem ProblemAboveItsBound() {
  PoolProblem problem;
  const auto add = [&](const char* name, int64_t begin_step, int64_t end_step, int64_t size_bytes) {
    problem.items.push_back(
        {.begin_step = begin_step, .end_step = end_step, .size_bytes = size_bytes, .name = name});
  };
  add("first half", 0, 5, 2);
  add("second half", 0, 6, 2);
  add("a", 5, 15, 1);
  add("b", 5, 20, 1);
  add("c", 6, 15, 1);
  add("d", 6, 20, 1);
  add("third half", 15, 25, 2);
  add("fourth half", 20, 25, 2);
  return problem;
}

TEST(PoolPlanTest, TellsAMissedCapacityFromAProof) {
  PoolProblem problem = ProblemAboveItsBound();
  ASSERT_EQ(BruteForceHeight(problem), 5);
  const PoolPlan lowest = MustPlan(problem, {.work_limit_units = 100'000});
  EXPECT_EQ(lowest.status, PoolStatus::kOptimal);
  EXPECT_EQ(lowest.height_bytes, 5);
  EXPECT_EQ(lowest.lower_bound_bytes, 5);
  EXPECT_EQ(lowest.lower_bound_proof, PoolBoundProof::kSearch);
  EXPECT_DOUBLE_EQ(FragmentationRatio(lowest), 1.25);
  problem.capacity_bytes = 4;
  problem.objective = PoolObjective::kFit;
  const PoolPlan proved = MustPlan(problem, {.work_limit_units = 100'000});
  EXPECT_EQ(proved.status, PoolStatus::kInfeasible);
  const PoolPlan plan = MustPlan(problem, {.work_limit_units = 1});
  EXPECT_EQ(plan.status, PoolStatus::kTimeout);
  ASSERT_TRUE(plan.conflict.has_value());
  EXPECT_EQ(plan.conflict->required_bytes, 5);
  EXPECT_EQ(plan.conflict->excess_bytes, 1);
  EXPECT_FALSE(plan.conflict->items.empty());
  EXPECT_THAT(DescribeConflict(problem, plan), HasSubstr("no fitting plan found"));
}

TEST(PoolPlanTest, FitIsMonotoneInCapacity) {
  PoolProblem problem = RandomPoolProblem(9, {.item_count = 100, .longest_steps = 20});
  const PoolPlan lowest = MustPlan(problem);
  problem.objective = PoolObjective::kFit;
  for (int64_t slack : {0, 1, 10, 1000}) {
    problem.capacity_bytes = lowest.height_bytes + slack;
    const PoolPlan plan = MustPlan(problem);
    EXPECT_LE(plan.height_bytes, *problem.capacity_bytes) << slack;
  }
}

TEST(PoolPlanTest, DumpsAPlan) {
  PoolProblem problem;
  problem.items.push_back({.id = 0, .begin_step = 0, .end_step = 2, .size_bytes = 8, .name = "a"});
  problem.items.push_back({.id = 1, .begin_step = 2, .end_step = 3, .size_bytes = 8});
  EXPECT_EQ(DumpPoolPlan(problem, MustPlan(problem)),
            "pool optimal: height 8 bytes, lower bound 8 at step 0, live peak 8, 2 items, "
            "by best-fit by conflicts\n"
            "  [0, 2) at [0, 8) 'a' (item 0)\n"
            "  [2, 3) at [0, 8) item 1\n");
}

}  // namespace
}  // namespace berth
