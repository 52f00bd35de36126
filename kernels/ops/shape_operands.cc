#include "kernels/ops/shape_operands.h"

#include <algorithm>

namespace berth {

absl::StatusOr<std::vector<int64_t>> IntOperand(const OpCall& call, int i, std::string_view name) {
  if (!call.HasInput(i)) return InvalidArgument("input {} ({}) is missing", i, name);
  if (call.input(i).shape.rank() > 1) {
    return InvalidArgument("input {} ({}) has shape {}, expected a list", i, name,
                           call.input(i).shape.ToString());
  }
  if (call.input(i).dtype != DType::kInt64 && call.input(i).dtype != DType::kInt32) {
    return InvalidArgument("input {} ({}) is {}, expected int64 or int32", i, name,
                           DTypeName(call.input(i).dtype));
  }
  const Tensor* value = call.Constant(i);
  if (value == nullptr) {
    return FailedPrecondition("input {} ({}) decides a shape but is not known at compile time", i,
                              name);
  }
  auto values = ToInt64Values(value->view());
  if (!values.ok()) return Annotate(values.status(), fmt::format("input {} ({})", i, name));
  return values;
}

absl::StatusOr<OptionalInts> AttributeOrOperand(const OpCall& call, std::string_view name, int i,
                                                int input_since) {
  if (call.node->opset < input_since) {
    return OptionalInts{call.node->attributes.Has(name), call.node->attributes.Ints(name)};
  }
  if (!call.HasInput(i)) return OptionalInts{};
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntOperand(call, i, name));
  return OptionalInts{true, std::move(values)};
}

absl::StatusOr<std::vector<int>> NormalizeAxes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> normalized;
  for (const int64_t axis : axes) {
    BERTH_ASSIGN_OR_RETURN(const int position, NormalizeAxis(axis, rank));
    if (std::find(normalized.begin(), normalized.end(), position) != normalized.end()) {
      return InvalidArgument("axis {} stands twice", position);
    }
    normalized.push_back(position);
  }
  return normalized;
}

}  // namespace berth
