#include "kernels/ops/reduce_axes.h"

#include <algorithm>

#include "kernels/ops/dtype_check.h"

namespace berth {

bool ReducedAxes::Any() const {
  return std::find(reduced.begin(), reduced.end(), true) != reduced.end();
}

Shape ReducedAxes::OutputShape(const Shape& input) const {
  std::vector<int64_t> extents;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (!reduced[static_cast<size_t>(axis)]) {
      extents.push_back(input[axis]);
    } else if (keep_dims) {
      extents.push_back(1);
    }
  }
  return Shape(std::move(extents));
}

absl::StatusOr<ReducedAxes> ResolveReducedAxes(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  std::vector<int64_t> axes = attributes.Ints("axes");
  if (call.HasInput(1)) {
    const Tensor* known = call.Constant(1);
    if (known == nullptr) return FailedPrecondition("the axes (input 1) are not known");
    BERTH_ASSIGN_OR_RETURN(axes, ToInt64Values(known->view()));
  }
  ReducedAxes result;
  result.keep_dims = attributes.Int("keepdims", 1) != 0;
  const int rank = call.input(0).shape.rank();
  const bool all = axes.empty() && attributes.Int("noop_with_empty_axes", 0) == 0;
  result.reduced.assign(static_cast<size_t>(rank), all);
  for (const int64_t axis : axes) {
    BERTH_ASSIGN_OR_RETURN(const int normal, NormalizeAxis(axis, rank));
    result.reduced[static_cast<size_t>(normal)] = true;
  }
  return result;
}

ReducedAxes KnownReducedAxes(const OpCall& call) {
  auto axes = ResolveReducedAxes(call);
  if (axes.ok()) return *std::move(axes);
  ReducedAxes none;
  none.reduced.assign(static_cast<size_t>(call.input(0).shape.rank()), false);
  return none;
}

absl::StatusOr<std::vector<TensorType>> ReductionTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, ResolveReducedAxes(call));
  return std::vector<TensorType>{{call.input(0).dtype, axes.OutputShape(call.input(0).shape)}};
}

ReducedAxes OneReducedAxis(int axis, int rank, bool keep_dims) {
  ReducedAxes axes;
  axes.reduced.assign(static_cast<size_t>(rank), false);
  axes.reduced[static_cast<size_t>(axis)] = true;
  axes.keep_dims = keep_dims;
  return axes;
}

absl::StatusOr<int> ResolveAxis(const OpCall& call, int64_t default_axis) {
  return NormalizeAxis(call.node->attributes.Int("axis", default_axis), call.input(0).shape.rank());
}

}  // namespace berth
