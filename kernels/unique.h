// The distinct slices of a tensor along one axis (Unique of ONNX). NaN counts as equal to NaN and
// larger than every number.
// Cost: O(n log n) comparisons of slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace berth {

// Slice i of [outer, axis, inner] is [all, i, all].
struct UniqueProblem {
  DType dtype = DType::kUndefined;
  int64_t outer = 1, axis = 0, inner = 1;
  bool sorted = true;  // by the slices' elements; otherwise in the order of first appearance
};

struct UniqueResult {
  std::vector<int64_t> first;    // of each distinct slice, where it appears first
  std::vector<int64_t> inverse;  // of each slice, which distinct one it is
  std::vector<int64_t> counts;   // of each distinct slice
};

UniqueResult FindUnique(const UniqueProblem& problem, const std::byte* data);

}  // namespace berth
