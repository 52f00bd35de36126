// The worst case of a dynamic model whose free dimensions are all bounded: its static plan with
// each of them at the end of its range.
#pragma once

#include <optional>

#include "kernels/graph.h"
#include "planner/compile.h"

namespace berth {

// `graph` as it was imported, options.ranges verified. Nothing where a free dimension has no range.
// A shape that the model cannot take or that does not fit is no error: the plan says so.
// Complexity: that of CompileGraph.
std::optional<MaximumPlan> PlanMaximum(const Graph& graph, const CompileOptions& options);

}  // namespace berth
