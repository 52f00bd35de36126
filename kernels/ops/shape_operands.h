// Values of operands and attributes that decide a shape, read in one way and with one wording.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/op_def.h"

namespace berth {

// The integers of input `i`, which must be known at compile time: FailedPrecondition otherwise.
absl::StatusOr<std::vector<int64_t>> IntOperand(const OpCall& call, int i, std::string_view name);

// A list that is attribute `name` before version `input_since` of the operator set, and input `i`
// from then on. `found` tells whether it was given at all.
struct OptionalInts {
  bool found = false;
  std::vector<int64_t> values;
};
absl::StatusOr<OptionalInts> AttributeOrOperand(const OpCall& call, std::string_view name, int i,
                                                int input_since);

// Each axis normalized to [0, rank); InvalidArgument where one stands twice or is out of range.
absl::StatusOr<std::vector<int>> NormalizeAxes(const std::vector<int64_t>& axes, int rank);

}  // namespace berth
