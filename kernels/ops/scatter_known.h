// A scatter whose row numbers are known: no work for the host engine, every row of the result comes
// from a known place.
#pragma once

#include <vector>

#include "kernels/rewrite.h"

namespace berth {

// The result of writing row i of `updates` over row numbers[i] of `table` (both [rows, elements];
// negative numbers count from the end, the last of equals wins): long runs of rows are joined by
// Concat, which the planner makes a view where it can, many short ones are gathered.
absl::Status ApplyKnownScatter(GraphRewriter& rewrite, ValueId table, ValueId updates,
                               const std::vector<int64_t>& numbers, ValueId result);

}  // namespace berth
