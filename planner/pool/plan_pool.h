// The placement solver: problem in, plan with certificate out.
//
// A portfolio of greedy constructions gives a first plan; improvement (improve.h) follows until the
// plan is at the lower bound (or within the capacity, where that is the objective) or the budget is
// spent. The search may also prove a higher lower bound, or that the capacity is too small.
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
  // With kFitThenReuse: gives up where rotating blocks through the memory does not fit them. The
  // plan then has no offsets, and its conflict tells the step and the bytes for which no room was
  // left.
  bool only_rotate = false;
  // Of the search, where it takes more than a few milliseconds. The plan does not depend on it.
  int threads = 1;
  // Ends the search early when it returns true (time limits, cancelled requests): the plan then
  // says that it is not reproducible. Called from every thread. Empty: never.
  std::function<bool()> should_stop;
  // Told the height of each plan that is better than those before. Empty: nobody is told.
  std::function<void(int64_t height_bytes)> on_better_plan;
};

// InvalidArgument for a problem that ValidatePoolProblem refuses.
absl::StatusOr<PoolPlan> PlanPool(const PoolProblem& problem, const PoolOptions& options = {});

}  // namespace berth
