#include "planner/storage/views.h"

#include "base/tensor.h"
#include "kernels/op_def.h"
#include "kernels/ops/axis_map.h"

namespace berth {

Extents DenseStrideBytes(const TensorType& type) {
  Extents strides;
  for (const int64_t stride : type.shape.DenseStrides()) {
    strides.push_back(stride * DTypeBytes(type.dtype));
  }
  return strides;
}

std::optional<Extents> ReshapeStrides(const Shape& from, const Extents& stride_bytes,
                                      const Shape& to) {
  // Both shapes are walked from the last axis in groups of equal element count; inside a group of
  // `from` the axes must be contiguous with one another.
  Extents result(static_cast<size_t>(to.rank()), 0);
  int i = from.rank() - 1, j = to.rank() - 1;
  while (i >= 0 || j >= 0) {
    while (i >= 0 && from[i] == 1) --i;
    if (i < 0) break;  // only extents of 1 are left on either side
    int64_t from_count = from[i], stride = stride_bytes[static_cast<size_t>(i)];
    int64_t expected = stride * from[i];
    int64_t to_count = 1;
    const int64_t unit = stride;
    while (to_count != from_count) {
      if (to_count < from_count) {
        if (j < 0) return std::nullopt;
        result[static_cast<size_t>(j)] = unit * to_count;
        to_count *= to[j--];
      } else {
        do {
          --i;
        } while (i >= 0 && from[i] == 1);
        if (i < 0 || stride_bytes[static_cast<size_t>(i)] != expected) return std::nullopt;
        from_count *= from[i];
        expected *= from[i];
      }
    }
    --i;
  }
  // What remains of `to` has extent 1: any stride serves.
  for (; j >= 0; --j) result[static_cast<size_t>(j)] = 0;
  for (int axis = to.rank() - 1; axis >= 0; --axis) {
    int64_t& stride = result[static_cast<size_t>(axis)];
    if (to[axis] == 1 && axis + 1 < to.rank()) {
      stride = result[static_cast<size_t>(axis + 1)] * to[axis + 1];
    }
  }
  return result;
}

bool IsDenseLayout(const TensorType& type, const Extents& stride_bytes) {
  const Extents dense = DenseStrideBytes(type);
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    if (type.shape[axis] != 1 && stride_bytes[a] != dense[a]) return false;
  }
  return true;
}

std::optional<SliceWindow> ReadSliceWindow(const Graph& graph, const Node& node) {
  const NodeCall call(graph, node);
  const absl::StatusOr<AxisMap> map = SliceMap(call.call());
  if (!map.ok()) return std::nullopt;
  SliceWindow window;
  for (const AxisSegments& axis : map->axes) {
    const AxisSegment& picked = axis[0];  // a slice picks one even sequence of each axis
    if (picked.step < 0 && picked.count > 1) return std::nullopt;
    window.begin.push_back(picked.source);
    window.step.push_back(picked.count > 1 ? picked.step : 1);
  }
  return window;
}

}  // namespace berth
