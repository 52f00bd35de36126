// An order in which values are read soon after they are made: depth first, so that runs of ops can
// be computed together, part by part, and values stay on chip.
#pragma once

#include "kernels/graph.h"

namespace berth {

// Permutes graph.nodes. Of the ops that are ready, the next is one that reads what was made last;
// of several, the one with the fewest ops that hang on it, so that side branches end before the
// trunk goes on. Deterministic, O(nodes^2 / 64 + edges log nodes).
void OrderLocally(Graph& graph);

}  // namespace berth
