#include "planner/passes/permutation.h"

#include <numeric>

namespace berth {

Permutation IdentityPermutation(int rank) {
  Permutation order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool IsIdentity(const Permutation& order) {
  return order == IdentityPermutation(static_cast<int>(order.size()));
}

Permutation Inverse(const Permutation& order) {
  Permutation inverse(order.size());
  for (size_t k = 0; k < order.size(); ++k)
    inverse[static_cast<size_t>(order[k])] = static_cast<int>(k);
  return inverse;
}

Permutation Compose(const Permutation& first, const Permutation& second) {
  Permutation result;
  for (const int k : second) result.push_back(first[static_cast<size_t>(k)]);
  return result;
}

Permutation ChannelsLast(int rank) {
  Permutation order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

Shape Permuted(const Shape& shape, const Permutation& order) {
  std::vector<int64_t> extents;
  for (const int axis : order) extents.push_back(shape[axis]);
  return Shape(std::move(extents));
}

Tensor Permuted(const Tensor& tensor, const Permutation& order) {
  const Shape shape = Permuted(tensor.shape(), order);
  Tensor result(TensorType{tensor.dtype(), shape});
  const auto element_bytes = static_cast<size_t>(DTypeBytes(tensor.dtype()));
  const std::vector<int64_t> dense = tensor.shape().DenseStrides();
  std::vector<int64_t> strides;
  for (const int axis : order) strides.push_back(dense[static_cast<size_t>(axis)]);
  std::vector<int64_t> position(order.size(), 0);
  const std::byte* source = tensor.bytes().data();
  std::byte* target = result.bytes().data();
  int64_t from = 0;
  for (int64_t i = 0, count = shape.ElementCount(); i < count; ++i) {
    std::memcpy(target + static_cast<size_t>(i) * element_bytes,
                source + static_cast<size_t>(from) * element_bytes, element_bytes);
    for (size_t axis = order.size(); axis-- > 0;) {
      from += strides[axis];
      if (++position[axis] < shape[static_cast<int>(axis)]) break;
      from -= strides[axis] * position[axis];
      position[axis] = 0;
    }
  }
  return result;
}

std::vector<int64_t> ToAttribute(const Permutation& order) { return {order.begin(), order.end()}; }

Permutation SignificantOrder(const Permutation& order, const Shape& original) {
  Permutation significant;
  for (const int axis : order) {
    if (original[axis] != 1) significant.push_back(axis);
  }
  return significant;
}

}  // namespace berth
