// The outputs of a dynamic model in terms of its inputs' named dimensions.
//
// Types are inferred by the one rule of each op, which knows numbers and no names. So the graph's
// types are inferred at several sizes (probes), a formula is fitted to every extent of every output
// (fit_extent.h), and it is confirmed at further, random sizes; an observation that contradicts it
// joins those that the next fit stands on. What is found has thus been seen to hold and is proved
// by nothing: it describes, and decides nothing.
//
// Complexity: some 100 walks of type inference over the graph, nothing computed but what decides
// shapes.
#pragma once

#include <vector>

#include "kernels/fold/evaluator.h"
#include "kernels/graph.h"
#include "runtime/bundle/contents.h"

namespace berth {

// One for each output of the graph. Probes stay within `ranges`. An extent without a formula keeps
// the model's own name; an output whose shape hangs on values is not found.
std::vector<OutputExtents> FindOutputExtents(const Graph& graph,
                                             const std::vector<DimRange>& ranges,
                                             const ConstantEvaluator& evaluator);

}  // namespace berth
