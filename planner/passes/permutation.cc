#include "planner/passes/permutation.h"

#include <algorithm>
#include <numeric>

#include "npu_sim/units/strided_copy.h"

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

namespace {

// The axes from `first` on, as loops that copy; axes of extent 1 need none.
LoopNest NestOfLast(const Shape& shape, const std::vector<int64_t>& from,
                    const std::vector<int64_t>& to, size_t first, int64_t element_bytes) {
  LoopNest nest;
  nest.operand_count = 2;
  nest.element_bytes[0] = nest.element_bytes[1] = element_bytes;
  size_t loop = 4;
  for (size_t axis = to.size(); axis-- > first;) {
    if (shape[static_cast<int>(axis)] == 1) continue;
    nest.extent[--loop] = shape[static_cast<int>(axis)];
    nest.stride_bytes[0][loop] = to[axis] * element_bytes;
    nest.stride_bytes[1][loop] = from[axis] * element_bytes;
  }
  return nest;
}

}  // namespace

Tensor Permuted(const Tensor& tensor, const Permutation& order) {
  const Shape shape = Permuted(tensor.shape(), order);
  Tensor result(TensorType{tensor.dtype(), shape});
  if (shape.ElementCount() == 0) return result;
  const std::vector<int64_t> dense = tensor.shape().DenseStrides(), to = shape.DenseStrides();
  std::vector<int64_t> from;
  for (const int axis : order) from.push_back(dense[static_cast<size_t>(axis)]);
  // Four loops copy at once; axes before them are walked here.
  const size_t first = order.size() - std::min<size_t>(order.size(), 4);
  const int64_t element_bytes = DTypeBytes(tensor.dtype());
  LoopNest nest = NestOfLast(shape, from, to, first, element_bytes);
  std::vector<int64_t> position(first, 0);
  for (int64_t i = 0, count = shape.Product(0, static_cast<int>(first)); i < count; ++i) {
    int64_t source = 0, target = 0;
    for (size_t axis = 0; axis < first; ++axis) {
      source += position[axis] * from[axis];
      target += position[axis] * to[axis];
    }
    nest.base[0] = result.bytes().data() + target * element_bytes;
    nest.base[1] = const_cast<std::byte*>(tensor.bytes().data()) + source * element_bytes;
    CopyStrided(nest);
    for (size_t axis = first; axis-- > 0;) {
      if (++position[axis] < shape[static_cast<int>(axis)]) break;
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
