// Which axes a reduction takes: from the attribute or, in later versions, from input 1.
#pragma once

#include <vector>

#include "kernels/op_def.h"

namespace berth {

struct ReducedAxes {
  std::vector<bool> reduced;  // per axis of the input
  bool keep_dims = true;

  bool Any() const;
  Shape OutputShape(const Shape& input) const;
};

// FailedPrecondition where the axes are an input whose value is not known.
absl::StatusOr<ReducedAxes> ResolveReducedAxes(const OpCall& call);

// The axes of a use whose type rule has passed.
ReducedAxes KnownReducedAxes(const OpCall& call);

// The type rule of the reductions.
absl::StatusOr<std::vector<TensorType>> ReductionTypes(const OpCall& call);

// One axis of an input of `rank`.
ReducedAxes OneReducedAxis(int axis, int rank, bool keep_dims);

// The axis of ArgMax, ArgMin and the softmaxes.
absl::StatusOr<int> ResolveAxis(const OpCall& call, int64_t default_axis);

}  // namespace berth
