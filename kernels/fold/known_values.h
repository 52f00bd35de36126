// Results that need no op semantics beyond shapes and small integers: what a planner without an
// evaluator still folds, so that the shapes of static models are known.
#pragma once

#include <optional>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// The node's outputs are typed. Nothing where the result is not known this way.
std::optional<std::vector<Tensor>> KnownResults(const Graph& graph, const Node& node);

}  // namespace berth
