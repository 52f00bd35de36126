// States in the planner: binding an output of a model to an input of its next run, and what becomes
// of that in a bundle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/graph.h"
#include "runtime/bundle/contents.h"

namespace berth {

// By the names of the model.
struct StateBinding {
  std::string input, output;
  std::optional<Tensor> initial;  // zeros if absent
};

// Adds the bindings to graph.states. InvalidArgument where there is no such input or output (naming
// those that there are), or one is bound already.
absl::Status BindStates(const std::vector<StateBinding>& bindings, Graph& graph);

// Types are known: input, output and initial value of each state have one type. InvalidArgument
// otherwise.
absl::Status CheckStateTypes(const Graph& graph);

// A run by itself: the inputs of states become constants, their outputs results of no one. The
// inputs' types are known.
void StartFresh(Graph& graph);

std::vector<StateInfo> DescribeStates(const Graph& graph);

}  // namespace berth
