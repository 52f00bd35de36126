// The front half of the planner: from an imported graph to one whose nodes all lower themselves or
// are views. frontend.cc lists the passes in order.
#pragma once

#include <functional>
#include <string_view>

#include "kernels/graph.h"
#include "planner/passes/evaluator.h"
#include "planner/passes/fold_constants.h"

namespace berth {

struct PrepareOptions {
  // Folds constants; null folds only what needs no arithmetic.
  ConstantEvaluator evaluator;
  FoldOptions fold;
  // Called after each pass with its name.
  std::function<void(std::string_view pass, const Graph& graph)> dump;
};

// Inputs and outputs keep their order, names and types. The graph is verified after every pass.
absl::StatusOr<Graph> PrepareGraph(Graph graph, const PrepareOptions& options);

}  // namespace berth
