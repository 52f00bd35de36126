#include "kernels/ops/flat_range.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {
namespace {

class Splitter {
 public:
  explicit Splitter(const Shape& shape) : shape_(shape) {}

  // Range [begin, end), not empty, of the subtensor over axes `axis` and up at the current prefix.
  void Split(int axis, int64_t begin, int64_t end) {
    if (axis == shape_.rank()) return Append(axis, 0, 0);
    const int64_t inner = shape_.Product(axis + 1, shape_.rank());
    int64_t first = begin / inner;
    const int64_t last = end / inner;  // of the whole slices, exclusive
    if (begin % inner != 0) {
      const int64_t until = std::min(end - first * inner, inner);
      Descend(axis, first, begin % inner, until);
      ++first;
    }
    if (first < last) Append(axis, first, last - first);
    if (end % inner != 0 && first <= last) Descend(axis, last, 0, end % inner);
  }

  std::vector<Box> Take() { return std::move(boxes_); }

 private:
  void Descend(int axis, int64_t index, int64_t begin, int64_t end) {
    prefix_.push_back(index);
    Split(axis + 1, begin, end);
    prefix_.pop_back();
  }

  // Slices [first, first + count) of `axis`, whole behind it.
  void Append(int axis, int64_t first, int64_t count) {
    Box box = WholeBox(shape_);
    for (size_t i = 0; i < prefix_.size(); ++i) {
      box.begin[i] = prefix_[i];
      box.extent[i] = 1;
    }
    if (axis < shape_.rank()) {
      box.begin[static_cast<size_t>(axis)] = first;
      box.extent[static_cast<size_t>(axis)] = count;
    }
    boxes_.push_back(std::move(box));
  }

  const Shape& shape_;
  Extents prefix_;
  std::vector<Box> boxes_;
};

}  // namespace

std::vector<Box> BoxesOfFlatRange(const Shape& shape, int64_t begin, int64_t end) {
  Splitter splitter(shape);
  if (begin < end) splitter.Split(0, begin, end);
  return splitter.Take();
}

Extents LargestFlatBox(const Shape& shape, int64_t count) {
  Extents extent(static_cast<size_t>(shape.rank()), 1);
  int64_t inner = 1;
  for (int axis = shape.rank(); axis-- > 0 && inner < count;) {
    extent[static_cast<size_t>(axis)] = std::min(shape[axis], CeilDiv(count, inner));
    inner *= shape[axis];
  }
  return extent;
}

}  // namespace berth
