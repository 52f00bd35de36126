// How the quantizer has graphs run, which the planner does not do itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "kernels/graph.h"

namespace berth {

// One run of a graph that was made ready: outputs in the graph's order.
using GraphRun =
    std::function<absl::StatusOr<std::vector<Tensor>>(absl::Span<const Tensor> inputs)>;
// Makes a graph (types known) ready to run many times.
using GraphRunner = std::function<absl::StatusOr<GraphRun>(const Graph& graph)>;

struct Sample {
  std::string name;  // for messages
  std::vector<Tensor> inputs;
};

}  // namespace berth
