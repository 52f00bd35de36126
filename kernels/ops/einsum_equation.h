// The equation of an Einsum, read against the ranks of its operands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace berth {

// Labels are letters; the axes of an ellipsis have labels of their own, 0, 1, ... from its end.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  std::vector<EinsumLabels> operands;  // one label for each axis
  EinsumLabels result;
};

// InvalidArgument says what is wrong with the text or does not fit the shapes.
absl::StatusOr<EinsumEquation> ParseEinsum(std::string_view equation,
                                           const std::vector<Shape>& shapes);

}  // namespace berth
