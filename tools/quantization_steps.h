// Judging outputs of quantized models: errors counted in steps of the output's own quantization.
#pragma once

#include <limits>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// The step between neighbouring values of each output: 1 for integers, the scale where a float
// output is dequantized per tensor (shape changes in between do not matter), the larger one for a
// sum of two such, 0 where it has none.
std::vector<double> OutputSteps(const Graph& graph);

// What counts as the same where an output has a step: a share of the values within so many steps,
// none further off than another number of steps, and the largest value in the same place where the
// output is one vector (all extents but one are 1).
struct StepTolerance {
  double steps = 0;  // 0: outputs are not judged by steps
  double share = 0.99;
  double most_steps = std::numeric_limits<double>::infinity();
  bool needs_same_top = true;
};

struct StepDifference {
  double max_steps = 0;
  double share_within = 1;  // of the values, within the tolerance
  bool same_top = true;
  bool Passes(const StepTolerance& tolerance) const {
    return share_within >= tolerance.share && max_steps <= tolerance.most_steps &&
           (same_top || !tolerance.needs_same_top);
  }
};
// The tensors have one type. A value that is not finite is infinitely far from any other.
absl::StatusOr<StepDifference> CompareSteps(const ConstTensorView& actual,
                                            const ConstTensorView& expected, double step,
                                            const StepTolerance& tolerance);

}  // namespace berth
