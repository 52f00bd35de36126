// Orders of axes.
//
// A Permutation `order` of a tensor means: axis k of the permuted tensor is axis order[k] of the
// original (ONNX Transpose's perm).
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor.h"

namespace berth {

using Permutation = std::vector<int>;

Permutation IdentityPermutation(int rank);
bool IsIdentity(const Permutation& order);
Permutation Inverse(const Permutation& order);
// First `first`, then `second`: axis k of the result is axis first[second[k]] of the original.
Permutation Compose(const Permutation& first, const Permutation& second);
// [0, 2, ..., rank - 1, 1]: channels last.
Permutation ChannelsLast(int rank);

Shape Permuted(const Shape& shape, const Permutation& order);
Tensor Permuted(const Tensor& tensor, const Permutation& order);
std::vector<int64_t> ToAttribute(const Permutation& order);

// The order in which the axes of extent other than 1 stand, which decides the order of the bytes.
Permutation SignificantOrder(const Permutation& order, const Shape& original);

}  // namespace berth
