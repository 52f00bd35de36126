// Checks a plan against its problem, apart from the code that made it.
//
// It looks only at items, offsets and the definition: alignment, fixed offsets, alias groups, and
// every pair of items that are live together for overlap. It adds up the bytes live at the step that
// the bound claims and checks that status, height, bound and capacity agree. O(n log n) plus those
// pairs.
#pragma once

#include "absl/status/status.h"
#include "planner/pool/problem.h"
#include "planner/pool/solution.h"

namespace berth {

// Internal, naming the items and bytes, for the first rule that is broken.
absl::Status VerifyPoolPlan(const PoolProblem& problem, const PoolPlan& plan);

}  // namespace berth
