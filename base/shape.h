// Shape: the extents of a tensor. Every product is overflow-checked.
//
// Invariant: extents are >= 0 (a dimension of 0 means a tensor without elements). A scalar has
// rank 0 and one element. Shapes of unknown extent do not exist here: symbolic dimensions belong to
// the graph (kernels/graph.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/status.h"

namespace berth {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

  // Checks that every extent is >= 0 and that the number of elements fits 2^48, so that no product
  // with an element size can wrap.
  static absl::StatusOr<Shape> Create(std::vector<int64_t> extents);

  int rank() const { return static_cast<int>(extents_.size()); }
  int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return extents_[static_cast<size_t>(axis)]; }
  int64_t back() const { return extents_.back(); }
  const std::vector<int64_t>& extents() const { return extents_; }
  auto begin() const { return extents_.begin(); }
  auto end() const { return extents_.end(); }

  int64_t ElementCount() const;          // 1 for a scalar
  int64_t ByteCount(DType dtype) const;  // dense
  // Strides of the dense row-major layout, in elements.
  std::vector<int64_t> DenseStrides() const;
  // Product of the extents of [first, last).
  int64_t Product(int first, int last) const;

  // "2x3x4"; "scalar" for rank 0.
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> extents_;
};

// The multidirectional broadcast of ONNX and NumPy; InvalidArgument names both shapes.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// An axis in [-rank, rank) as one in [0, rank); InvalidArgument otherwise.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace berth
