// What the references of data movement share: element by element, from where each one comes.
#pragma once

#include <cstring>
#include <vector>

#include "base/tensor.h"

namespace berth {

using Coordinates = std::vector<int64_t>;

inline int64_t FlatIndex(const Shape& shape, const Coordinates& index) {
  int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    flat = flat * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return flat;
}

// Calls visit(index) for every element of `shape`, in row-major order.
template <typename Visit>
void ForEachIndex(const Shape& shape, Visit&& visit) {
  Coordinates index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t count = shape.ElementCount(); count > 0; --count) {
    visit(static_cast<const Coordinates&>(index));
    for (int axis = shape.rank(); axis-- > 0;) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

inline void CopyElement(const ConstTensorView& from, int64_t from_flat, const TensorView& to,
                        int64_t to_flat) {
  const int64_t bytes = DTypeBytes(to.type.dtype);
  std::memcpy(to.data + to_flat * bytes, from.data + from_flat * bytes, static_cast<size_t>(bytes));
}

// out[index] = in[source(index)], `source` giving the index in `in`.
template <typename Source>
void CopyFrom(const ConstTensorView& in, const TensorView& out, Source&& source) {
  int64_t flat = 0;
  ForEachIndex(out.type.shape, [&](const Coordinates& index) {
    CopyElement(in, FlatIndex(in.type.shape, source(index)), out, flat++);
  });
}

inline void CopyAll(const ConstTensorView& in, const TensorView& out) {
  const int64_t bytes = out.type.ByteCount();
  if (bytes > 0) std::memcpy(out.data, in.data, static_cast<size_t>(bytes));
}

}  // namespace berth
