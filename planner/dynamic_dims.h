// The free dimensions of a dynamic model: their names, and the model at one size for each of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/graph.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Names the free dimensions of inputs that the model leaves without a name, each for itself: "d2"
// for the third, or "input.d2" where that is some other dimension's name already.
void NameFreeDims(Graph& graph);

// The graph with the inputs' shapes known. InvalidArgument names the input where `extents` does not
// say all of it (a rank that is not declared, a dimension without a size), or its size is none.
absl::StatusOr<Graph> PinFreeDims(const Graph& graph,
                                  const std::map<std::string, int64_t>& extents);

}  // namespace berth
