#include "planner/pool/plan_pool.h"

#include <algorithm>

#include "base/status.h"
#include "planner/pool/blocks.h"
#include "planner/pool/conflict.h"
#include "planner/pool/improve.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/lower_bound.h"
#include "planner/pool/portfolio.h"
#include "planner/pool/reuse_distance.h"
#include "planner/pool/work_budget.h"

namespace berth {
namespace {

constexpr int64_t kMostConflictUnits = 10'000'000;
constexpr int64_t kFitShare = 4;  // of the budget, goes to searches at the capacity alone

// What is low enough: the bound, or the capacity where fitting is all that is asked.
int64_t TargetBytes(const PoolProblem& problem, const PoolLowerBound& bound) {
  if (problem.objective == PoolObjective::kLowestHeight) return bound.bound_bytes;
  return std::max(bound.bound_bytes, *problem.capacity_bytes);
}

bool IsRuledOut(const PoolProblem& problem, const PoolLowerBound& bound) {
  return problem.capacity_bytes && bound.bound_bytes > *problem.capacity_bytes;
}

// Leaves in `bound_bytes` what the search proves, and in `blocked_block` where options.only_rotate
// ended it.
Incumbent Search(const PoolProblem& problem, const BlockSet& set, const PoolLowerBound& bound,
                 const PoolOptions& options, WorkBudget* budget, int64_t* bound_bytes,
                 int32_t* blocked_block) {
  Incumbent incumbent;
  incumbent.on_better = options.on_better_plan;
  if (IsRuledOut(problem, bound)) {
    // A quick plan shows about how much would do; callers try many problems that do not fit.
    RunGreedyPortfolio(set, kUnlimitedBytes, budget, &incumbent);
    return incumbent;
  }
  if (problem.objective == PoolObjective::kFitThenReuse) {
    Trial trial = PlaceForReuse(set, *problem.capacity_bytes, budget);
    if (trial.is_complete) {
      incumbent.Offer(std::move(trial), "reuse distance");
      return incumbent;
    }
    if (options.only_rotate && !trial.blocked_blocks.empty()) {
      *blocked_block = trial.blocked_blocks[0];
      return incumbent;
    }
  }
  const int64_t target_bytes = TargetBytes(problem, bound);
  const int64_t spent_before_units = budget->spent_units;
  RunGreedyPortfolio(set, target_bytes, budget, &incumbent);
  ImproveOptions improve = {
      .target_bytes = target_bytes, .seed = options.seed, .threads = options.threads};
  if (problem.objective == PoolObjective::kLowestHeight) {
    *bound_bytes = ImproveInRounds(set, *bound_bytes, improve, budget, &incumbent);
    return incumbent;
  }
  // First at the capacity alone. Then as without one, with the same start and budget as that would
  // have: so a capacity is met wherever the lowest height that is found without it is within it.
  WorkBudget lowest_budget = {budget->limit_units, budget->should_stop,
                              budget->spent_units - spent_before_units};
  Incumbent lowest = incumbent;
  improve.only_fit = true;
  budget->limit_units = budget->spent_units + budget->limit_units / kFitShare;
  *bound_bytes = ImproveInRounds(set, *bound_bytes, improve, budget, &incumbent);
  if (incumbent.height_bytes > target_bytes && *bound_bytes <= target_bytes) {
    improve.only_fit = false;
    *bound_bytes = std::max(
        *bound_bytes, ImproveInRounds(set, bound.bound_bytes, improve, &lowest_budget, &lowest));
    budget->Spend(lowest_budget.spent_units);
    budget->was_stopped = budget->was_stopped || lowest_budget.was_stopped;
    incumbent.Take(std::move(lowest));
  }
  return incumbent;
}

PoolStatus Judge(const PoolProblem& problem, int64_t bound_bytes, int64_t height_bytes) {
  if (problem.capacity_bytes && bound_bytes > *problem.capacity_bytes)
    return PoolStatus::kInfeasible;
  if (problem.capacity_bytes && height_bytes > *problem.capacity_bytes) {
    return PoolStatus::kTimeout;
  }
  return height_bytes == bound_bytes ? PoolStatus::kOptimal : PoolStatus::kFeasible;
}

}  // namespace

absl::StatusOr<PoolPlan> PlanPool(const PoolProblem& problem, const PoolOptions& options) {
  BERTH_RETURN_IF_ERROR(ValidatePoolProblem(problem));
  PoolPlan plan;
  plan.method = "nothing to place";
  if (problem.items.empty()) return plan;
  const BlockSet set = MakeBlocks(problem);
  const PoolLowerBound bound = ComputeLowerBound(set);
  WorkBudget budget = {options.work_limit_units, options.should_stop};
  int64_t bound_bytes = bound.bound_bytes;
  int32_t blocked_block = -1;
  Incumbent incumbent = Search(problem, set, bound, options, &budget, &bound_bytes, &blocked_block);
  if (blocked_block >= 0) {
    const Block& block = set.blocks[blocked_block];
    plan.status = PoolStatus::kTimeout;
    plan.conflict = PoolConflict{.step = set.section_steps[block.begin_section],
                                 .available_bytes = *problem.capacity_bytes,
                                 .excess_bytes = block.size_bytes};
    return plan;
  }

  for (int32_t block : set.block_of_item) {
    plan.offset_bytes.push_back(incumbent.offset_bytes[block]);
  }
  plan.height_bytes = incumbent.height_bytes;
  plan.lower_bound_bytes = bound_bytes;
  if (bound_bytes > bound.bound_bytes) plan.lower_bound_proof = PoolBoundProof::kSearch;
  plan.lower_bound_step = bound.step;
  plan.live_peak_bytes = bound.live_peak_bytes;
  plan.method = std::move(incumbent.method);
  plan.work_units = budget.spent_units;
  plan.is_reproducible = !budget.was_stopped;
  plan.status = Judge(problem, bound_bytes, plan.height_bytes);
  if (plan.status == PoolStatus::kInfeasible || plan.status == PoolStatus::kTimeout) {
    plan.conflict =
        FindConflict(problem, plan,
                     {std::min(options.work_limit_units, kMostConflictUnits), options.should_stop});
  }
  if (problem.objective == PoolObjective::kFitThenReuse) {
    plan.reuse = MeasureReuse(set, incumbent.offset_bytes);
  }
  return plan;
}

}  // namespace berth
