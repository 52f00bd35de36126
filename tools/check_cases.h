// The cases that `berth check` compares with.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"

namespace berth {

struct Case {
  std::string name;
  std::vector<Tensor> inputs, expected;  // in the model's order
};

// `refs` is one case (it holds output_0.npy) or a folder of such folders.
absl::StatusOr<std::vector<Case>> ReadCases(const std::string& refs);

bool HaveOneShape(const std::vector<Case>& cases);

}  // namespace berth
