// The placement solver: problem in, plan with certificate out.
//
// A portfolio of greedy constructions gives a first plan; improvement follows until the plan is at
// the lower bound (or within the capacity, where that is the objective) or the budget is spent.
// A plan always exists, also where the capacity is missed; `status` says what it is worth.
// Deterministic for given options unless `should_stop` ends the search.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "planner/pool/problem.h"
#include "planner/pool/solution.h"

namespace berth {

struct PoolOptions {
  // Work of the search in units of about 3 ns (one visit of a candidate). The default is some
  // 100 ms: little beside a compile, and the gain of more is small.
  int64_t work_limit_units = 30'000'000;
  uint64_t seed = 1;  // of the improvement
  // Ends the search early when it returns true (time limits, cancelled requests): the plan then
  // says that it is not reproducible. Empty: never.
  std::function<bool()> should_stop;
};

// InvalidArgument for a problem that ValidatePoolProblem refuses.
absl::StatusOr<PoolPlan> PlanPool(const PoolProblem& problem, const PoolOptions& options = {});

}  // namespace berth
