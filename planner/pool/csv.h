// Placement problems and plans as CSV, the form of `berth place` and of published instances.
//
// The first line names the columns, in any order:
//     id          unique text
//     lower       first step (also: start, begin)
//     upper       first step at which the item is live no more; or instead
//     end         last step at which it is live (inclusive)
//     size        bytes
//     alignment   optional, bytes
//     offset      optional, fixed offset in bytes; an empty cell leaves the item free
//     hint        optional, offset in an earlier plan; an empty cell is no hint
// Empty lines are skipped. Written plans have id, lower, upper, size, the optional columns that
// some item uses, and offset: the plan's.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/pool/problem.h"
#include "planner/pool/solution.h"

namespace berth {

// InvalidArgument with line number and column. Item ids count the rows from 0; the id column
// becomes the name. Only form is checked here, ValidatePoolProblem checks the content.
absl::StatusOr<PoolProblem> ParsePoolCsv(std::string_view text);

std::string FormatPoolCsv(const PoolProblem& problem, const PoolPlan& plan);

}  // namespace berth
