#include "planner/pool/conflict.h"

#include <algorithm>
#include <map>
#include <optional>

#include "planner/pool/exact/search.h"
#include "planner/pool/lower_bound.h"
#include "planner/pool/measures.h"

namespace berth {
namespace {

constexpr int64_t kMostPairs = 300'000;
constexpr int64_t kTrialShare = 8;  // of what is left of the budget, for one deletion
constexpr int64_t kSliceUnits = 25'000;

PoolProblem Subset(const PoolProblem& problem, const std::vector<int64_t>& items) {
  PoolProblem subset;
  for (const int64_t item : items) subset.items.push_back(problem.items[item]);
  return subset;
}

int64_t BoundOf(const PoolProblem& problem, const std::vector<int64_t>& items) {
  if (items.empty()) return 0;
  return ComputeLowerBound(MakeBlocks(Subset(problem, items))).bound_bytes;
}

void SortLargestFirst(const PoolProblem& problem, std::vector<int64_t>* items) {
  std::stable_sort(items->begin(), items->end(), [&](int64_t a, int64_t b) {
    return problem.items[a].size_bytes > problem.items[b].size_bytes;
  });
}

// Leaves out, from the smallest up, each item without which the others still exceed the capacity.
std::vector<int64_t> ShrinkByLoad(const PoolProblem& problem, std::vector<int64_t> items) {
  for (size_t i = items.size(); i-- > 0;) {
    std::vector<int64_t> fewer = items;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (BoundOf(problem, fewer) > *problem.capacity_bytes) items = std::move(fewer);
  }
  return items;
}

bool IsRefuted(const PoolProblem& problem, const std::vector<int64_t>& items, WorkBudget* budget) {
  if (items.empty()) return false;
  const BlockSet set = MakeBlocks(Subset(problem, items));
  const std::optional<ExactModel> model = MakeExactModel(set, kMostPairs);
  if (!model) return false;
  ExactStrategy strategy;
  const std::vector<double> measured = MeasureBlocks(set, BlockMeasure::kLength);
  for (const int32_t block : model->set_block) strategy.priorities.push_back(measured[block]);
  ExactSearch search(*model, std::move(strategy));
  search.SetHeight(*problem.capacity_bytes / model->unit_bytes);
  ExactOutcome outcome = ExactOutcome::kUndecided;
  const int64_t share_units = budget->LeftUnits() / kTrialShare;
  while (outcome == ExactOutcome::kUndecided && search.spent_units() < share_units &&
         !budget->IsExhausted()) {
    outcome = search.Run(std::min(share_units, kSliceUnits));
  }
  budget->Spend(search.spent_units() + std::ssize(items));
  return outcome == ExactOutcome::kRefuted;
}

// Deletion by runs of half the size each time: first far in time, then one by one.
std::vector<int64_t> ShrinkBySearch(const PoolProblem& problem, WorkBudget* budget) {
  std::vector<int64_t> items(problem.items.size());
  for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<int64_t>(i);
  std::stable_sort(items.begin(), items.end(), [&](int64_t a, int64_t b) {
    return problem.items[a].begin_step < problem.items[b].begin_step;
  });
  for (size_t run = items.size() / 2; run > 0 && !budget->IsExhausted(); run /= 2) {
    for (size_t at = 0; at < items.size() && !budget->IsExhausted();) {
      std::vector<int64_t> fewer = items;
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(first, first + static_cast<std::ptrdiff_t>(std::min(run, fewer.size() - at)));
      if (IsRefuted(problem, fewer, budget)) {
        items = std::move(fewer);
      } else {
        at += run;
      }
    }
  }
  return items;
}

int64_t BusiestStep(const PoolProblem& problem, const std::vector<int64_t>& items) {
  std::map<int64_t, int64_t> change;
  for (const int64_t item : items) {
    change[problem.items[item].begin_step] += 1;
    change[problem.items[item].end_step] -= 1;
  }
  int64_t live = 0, most = 0, step = 0;
  for (const auto& [at, delta] : change) {
    live += delta;
    if (live <= most) continue;
    most = live;
    step = at;
  }
  return step;
}

// A step at which the plan reaches its height.
int64_t HighestStep(const PoolProblem& problem, const PoolPlan& plan) {
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolItem& item = problem.items[i];
    if (plan.offset_bytes[i] + item.size_bytes == plan.height_bytes) return item.begin_step;
  }
  return 0;
}

}  // namespace

PoolConflict FindConflict(const PoolProblem& problem, const PoolPlan& plan, WorkBudget budget) {
  PoolConflict conflict;
  conflict.available_bytes = *problem.capacity_bytes;
  if (plan.status != PoolStatus::kInfeasible) {
    conflict.step = HighestStep(problem, plan);
    conflict.items = ItemsLiveAt(problem, conflict.step);
    conflict.required_bytes = plan.height_bytes;
  } else if (plan.lower_bound_proof == PoolBoundProof::kLoad) {
    conflict.proof = PoolConflictProof::kLoad;
    conflict.step = plan.lower_bound_step;
    conflict.items = ShrinkByLoad(problem, ItemsLiveAt(problem, conflict.step));
    conflict.required_bytes = BoundOf(problem, conflict.items);
  } else {
    conflict.proof = PoolConflictProof::kSearch;
    conflict.items = ShrinkBySearch(problem, &budget);
    SortLargestFirst(problem, &conflict.items);
    conflict.step = BusiestStep(problem, conflict.items);
    conflict.required_bytes = *problem.capacity_bytes + 1;
  }
  conflict.excess_bytes = conflict.required_bytes - conflict.available_bytes;
  return conflict;
}

}  // namespace berth
