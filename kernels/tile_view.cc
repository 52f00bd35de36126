#include <numeric>

#include "kernels/tile_builder.h"

namespace berth {
namespace {

int64_t Product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

int64_t Box::ElementCount() const { return Product(extent); }

Box WholeBox(const Shape& shape) {
  Box box;
  box.begin.assign(static_cast<size_t>(shape.rank()), 0);
  box.extent.assign(shape.begin(), shape.end());
  return box;
}

int64_t TileView::ElementCount() const { return Product(extent); }

TileView TileView::Sub(const Extents& begin, const Extents& sub_extent) const {
  TileView sub = *this;
  sub.extent = sub_extent;
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    sub.offset_bytes += begin[axis] * stride_bytes[axis];
  }
  return sub;
}

TileView TileView::Permuted(const Extents& order) const {
  TileView permuted = *this;
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    permuted.extent[axis] = extent[static_cast<size_t>(order[axis])];
    permuted.stride_bytes[axis] = stride_bytes[static_cast<size_t>(order[axis])];
  }
  return permuted;
}

TileView TileView::Reshaped(const Extents& new_extent) const {
  TileView reshaped = *this;
  reshaped.extent = new_extent;
  reshaped.stride_bytes.assign(new_extent.size(), 0);
  int64_t stride = DTypeBytes(dtype);
  for (size_t axis = new_extent.size(); axis-- > 0;) {
    reshaped.stride_bytes[axis] = stride;
    stride *= new_extent[axis];
  }
  return reshaped;
}

bool TileView::IsDense() const {
  int64_t stride = DTypeBytes(dtype);
  for (size_t axis = extent.size(); axis-- > 0;) {
    if (extent[axis] != 1 && stride_bytes[axis] != stride) return false;
    stride *= extent[axis];
  }
  return true;
}

TileView TileView::BroadcastTo(const Extents& target) const {
  TileView broadcast = *this;
  broadcast.extent = target;
  broadcast.stride_bytes.assign(target.size(), 0);
  const size_t missing = target.size() - extent.size();
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    if (extent[axis] == target[missing + axis]) {
      broadcast.stride_bytes[missing + axis] = stride_bytes[axis];
    }
  }
  return broadcast;
}

}  // namespace berth
