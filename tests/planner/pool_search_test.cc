// The whole search: same plan on any number of threads, truthful statuses, small conflicts, plans
// of large problems, and a verifier that catches every change of a plan.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "planner/pool/lower_bound.h"
#include "planner/pool/neighbourhood.h"
#include "planner/pool/plan_pool.h"
#include "planner/pool/time_order.h"
#include "planner/pool/verify.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::RandomPoolProblem;
using ::berth::testing::RandomPoolSpec;

PoolPlan MustPlan(const PoolProblem& problem, const PoolOptions& options = {}) {
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
  return *plan;
}

// Hard enough to take many rounds.
PoolProblem HardProblem(uint64_t seed) {
  return RandomPoolProblem(seed, {.item_count = 150,
                                  .step_count = 60,
                                  .longest_steps = 30,
                                  .largest_bytes = 5'000,
                                  .largest_alignment_bytes = 256});
}

TEST(PoolSearchTest, ThePlanDoesNotDependOnThreads) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem = HardProblem(seed);
    PoolOptions options = {.work_limit_units = 8'000'000, .seed = seed};
    const PoolPlan alone = MustPlan(problem, options);
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const PoolPlan together = MustPlan(problem, options);
      EXPECT_EQ(DumpPoolPlan(problem, together), DumpPoolPlan(problem, alone)) << threads;
      EXPECT_EQ(together.work_units, alone.work_units) << threads;
      EXPECT_TRUE(together.is_reproducible);
      EXPECT_GT(together.work_units, 2'000'000);  // else no thread was started
    }
    problem.objective = PoolObjective::kFit;
    problem.capacity_bytes = alone.height_bytes + 3;
    options.threads = 1;
    const PoolPlan fits = MustPlan(problem, options);
    EXPECT_LE(fits.height_bytes, *problem.capacity_bytes);
    for (const int threads : {2, 8}) {
      options.threads = threads;
      EXPECT_EQ(DumpPoolPlan(problem, MustPlan(problem, options)), DumpPoolPlan(problem, fits));
    }
  }
}

TEST(PoolSearchTest, EveryCapacityFromTheHeightOnIsMet) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem = RandomPoolProblem(seed, {.item_count = 50, .longest_steps = 20});
    const PoolOptions options = {.work_limit_units = 2'000'000};
    const PoolPlan lowest = MustPlan(problem, options);
    problem.objective = PoolObjective::kFit;
    for (const int64_t slack : {0, 1, 7, 40}) {
      problem.capacity_bytes = lowest.height_bytes + slack;
      EXPECT_LE(MustPlan(problem, options).height_bytes, *problem.capacity_bytes);
    }
    problem.capacity_bytes = lowest.lower_bound_bytes - 1;
    EXPECT_EQ(MustPlan(problem, options).status, PoolStatus::kInfeasible);
  }
}

// What a conflict names must itself be too much, and by load nothing of it can be spared.
TEST(PoolSearchTest, ConflictsAreProofs) {
  int by_load = 0, by_search = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 9,
                                 .step_count = 8,
                                 .longest_steps = 6,
                                 .largest_bytes = 6,
                                 .largest_alignment_bytes = seed % 2 == 0 ? 4 : 1});
    const PoolPlan lowest = MustPlan(problem);
    problem.objective = PoolObjective::kFit;
    ASSERT_EQ(lowest.status, PoolStatus::kOptimal);
    problem.capacity_bytes = lowest.height_bytes - 1;
    const PoolPlan plan = MustPlan(problem);
    ASSERT_EQ(plan.status, PoolStatus::kInfeasible);
    ASSERT_TRUE(plan.conflict.has_value());
    EXPECT_GT(plan.conflict->excess_bytes, 0);
    EXPECT_EQ(plan.conflict->required_bytes,
              plan.conflict->available_bytes + plan.conflict->excess_bytes);
    PoolProblem subset = problem;
    subset.items.clear();
    for (const int64_t item : plan.conflict->items) subset.items.push_back(problem.items[item]);
    EXPECT_EQ(MustPlan(subset).status, PoolStatus::kInfeasible);
    const bool is_by_load = plan.conflict->proof == PoolConflictProof::kLoad;
    (is_by_load ? by_load : by_search) += 1;
    if (!is_by_load) continue;
    for (size_t i = 0; i < subset.items.size(); ++i) {
      PoolProblem fewer = subset;
      fewer.items.erase(fewer.items.begin() + static_cast<std::ptrdiff_t>(i));
      // By their load; that they fit nonetheless in no way, aligned as they are, is another matter.
      EXPECT_LE(ComputeLowerBound(MakeBlocks(fewer)).bound_bytes, *problem.capacity_bytes) << i;
    }
  }
  EXPECT_GT(by_load, 20);
  EXPECT_GT(by_search, 2);
}

TEST(PoolSearchTest, TheVerifierCatchesEveryChangedItem) {
  const PoolProblem problem = RandomPoolProblem(11, {.item_count = 80, .longest_steps = 20});
  const PoolPlan plan = MustPlan(problem);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    PoolPlan low = plan;
    low.offset_bytes[i] = -1;
    EXPECT_NE(VerifyPoolPlan(problem, low), absl::OkStatus()) << i;
    // Where the item lies on another, one byte lower meets it; in any case the top byte counts.
    PoolPlan high = plan;
    high.offset_bytes[i] = plan.height_bytes;
    EXPECT_NE(VerifyPoolPlan(problem, high), absl::OkStatus()) << i;
    // The item twice: the second one lies in the first.
    PoolProblem twice = problem;
    PoolPlan doubled = plan;
    twice.items.push_back(problem.items[i]);
    doubled.offset_bytes.push_back(plan.offset_bytes[i]);
    EXPECT_NE(VerifyPoolPlan(twice, doubled), absl::OkStatus()) << i;
    // Live all the time, the item meets what took its bytes before or after, or breaks the bound's
    // witness; a shorter life takes from the witness or leaves a valid plan.
    PoolProblem shorter = problem;
    shorter.items[i].end_step = shorter.items[i].begin_step + 1;
    const bool witnesses = problem.items[i].begin_step < plan.lower_bound_step &&
                           plan.lower_bound_step < problem.items[i].end_step;
    if (witnesses && plan.lower_bound_proof == PoolBoundProof::kLoad) {
      EXPECT_NE(VerifyPoolPlan(shorter, plan), absl::OkStatus()) << i;
    }
  }
}

TEST(PoolSearchTest, LargePlansAreValidWithinTheTimeLimit) {
  const PoolProblem problem = RandomPoolProblem(
      3, {.item_count = 12'000, .step_count = 3'000, .longest_steps = 60, .largest_bytes = 5'000});
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  PoolOptions options = {.work_limit_units = int64_t{1} << 60};
  options.should_stop = [&] { return elapsed_s() > 0.5; };
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE(elapsed_s(), 2.0);  // generous: machines are shared
  EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
}

TEST(PoolSearchTest, TimeOrderAndNeighbourhoodsKeepEveryRule) {
  int improved = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 300,
                                 .step_count = 80,
                                 .longest_steps = 25,
                                 .largest_alignment_bytes = seed % 2 == 0 ? 16 : 1,
                                 .alias_group_count = static_cast<int>(seed % 3) * 10});
    const BlockSet set = MakeBlocks(problem);
    Incumbent incumbent;
    incumbent.Offer(PlaceInTimeOrder(set), "time");
    const auto verify = [&] {
      PoolPlan plan = {.status = PoolStatus::kFeasible};
      for (const int32_t block : set.block_of_item) {
        plan.offset_bytes.push_back(incumbent.offset_bytes[block]);
      }
      for (size_t i = 0; i < problem.items.size(); ++i) {
        plan.height_bytes =
            std::max(plan.height_bytes, plan.offset_bytes[i] + problem.items[i].size_bytes);
      }
      EXPECT_EQ(VerifyPoolPlan(problem, plan), absl::OkStatus());
      EXPECT_EQ(plan.height_bytes, incumbent.height_bytes);
    };
    verify();
    const int64_t before_bytes = incumbent.height_bytes;
    WorkBudget budget = {.limit_units = 3'000'000};
    const int64_t bound_bytes = ComputeLowerBound(set).bound_bytes;
    ImproveByNeighbourhoods(set, bound_bytes, bound_bytes, seed, &budget, &incumbent);
    verify();
    improved += incumbent.height_bytes < before_bytes ? 1 : 0;
  }
  EXPECT_GE(improved, 15);
}

}  // namespace
}  // namespace berth
