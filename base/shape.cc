#include "base/shape.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "base/checked_math.h"

namespace berth {
namespace {
constexpr int64_t kMaxElements = int64_t{1} << 48;
}  // namespace

absl::StatusOr<Shape> Shape::Create(std::vector<int64_t> extents) {
  int64_t elements = 1;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] < 0) {
      return InvalidArgument("shape {}: dimension {} is {}", Shape(extents).ToString(), axis,
                             extents[axis]);
    }
    if (extents[axis] == 0) continue;  // the others must make sense all the same
    const std::optional<int64_t> product = CheckedMul(elements, extents[axis]);
    if (!product || *product > kMaxElements) {
      return InvalidArgument("shape {}: more than 2^48 elements", Shape(extents).ToString());
    }
    elements = *product;
  }
  return Shape(std::move(extents));
}

int64_t Shape::ElementCount() const { return Product(0, rank()); }
int64_t Shape::ByteCount(DType dtype) const { return ElementCount() * DTypeBytes(dtype); }

std::vector<int64_t> Shape::DenseStrides() const {
  std::vector<int64_t> strides(extents_.size());
  int64_t stride = 1;
  for (size_t axis = extents_.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents_[axis];
  }
  return strides;
}

int64_t Shape::Product(int first, int last) const {
  return std::accumulate(extents_.begin() + first, extents_.begin() + last, int64_t{1},
                         std::multiplies<>());
}

std::string Shape::ToString() const {
  if (extents_.empty()) return "scalar";
  return fmt::format("{}", fmt::join(extents_, "x"));
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> extents(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {  // from the last axis
    const int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1;
    const int64_t y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return InvalidArgument("shapes {} and {} do not broadcast", a.ToString(), b.ToString());
    }
    extents[static_cast<size_t>(rank - 1 - i)] = x == 1 ? y : x;
  }
  return Shape::Create(std::move(extents));
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("axis {} is outside [{}, {})", axis, -rank, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace berth
