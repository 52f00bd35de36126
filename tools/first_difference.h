// Which node of a model first gives other values on the machine than in the reference.
#pragma once

#include <string>

#include "kernels/graph.h"
#include "planner/compile.h"

namespace berth {

// What counts as the same: an error within either.
struct Tolerance {
  double relative = 0;  // to max |expected|
  double absolute = 0;
  bool Accepts(double max_abs_error, double max_rel_error) const {
    return max_rel_error <= relative || max_abs_error <= absolute;
  }
};

// Compiles variants of `graph` (imported, types inferred) whose intermediate values are outputs,
// runs them and compares value by value, in the order of the nodes: floats by the tolerance,
// integers of at most 16 bits to within one step, others exactly. Of a quantized graph the integers
// are looked at first, alone: keeping floats in between would undo the integer arithmetic. A
// sentence for people: the node, or that no value differs when all are kept (the difference then
// comes with fusion or with values that share bytes). Looks at the first kMostValues values.
absl::StatusOr<std::string> DescribeFirstDifference(const Graph& graph,
                                                    absl::Span<const Tensor> inputs,
                                                    const CompileOptions& options,
                                                    const Tolerance& tolerance, int threads);

}  // namespace berth
