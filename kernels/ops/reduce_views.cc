#include "kernels/ops/reduce_views.h"

namespace berth {
namespace {

std::vector<int64_t> OnesWhere(const ReducedAxes& axes, bool reduced,
                               absl::Span<const int64_t> extents) {
  std::vector<int64_t> result(extents.begin(), extents.end());
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (axes.reduced[axis] == reduced) result[axis] = 1;
  }
  return result;
}

}  // namespace

Box ReducedBox(const ReducedAxes& axes, const Box& input_box) {
  Box box;
  for (size_t axis = 0; axis < input_box.extent.size(); ++axis) {
    const bool reduced = axes.reduced[axis];
    if (reduced && !axes.keep_dims) continue;
    box.begin.push_back(reduced ? 0 : input_box.begin[axis]);
    box.extent.push_back(reduced ? 1 : input_box.extent[axis]);
  }
  return box;
}

TileView WithReducedAxes(const ReducedAxes& axes, const TileView& output_view) {
  if (axes.keep_dims) return output_view;
  TileView view = output_view;
  view.extent.clear();
  view.stride_bytes.clear();
  size_t next = 0;
  for (const bool reduced : axes.reduced) {
    view.extent.push_back(reduced ? 1 : output_view.extent[next]);
    view.stride_bytes.push_back(reduced ? 0 : output_view.stride_bytes[next]);
    if (!reduced) ++next;
  }
  return view;
}

std::vector<int64_t> KeptExtents(const ReducedAxes& axes, absl::Span<const int64_t> extents) {
  return OnesWhere(axes, true, extents);
}

std::vector<int64_t> ReducedExtents(const ReducedAxes& axes, absl::Span<const int64_t> extents) {
  return OnesWhere(axes, false, extents);
}

Box CombineBoxes(const ReducedAxes& axes, const Box& kept, const Box& reduced) {
  Box box = kept;
  for (size_t axis = 0; axis < box.begin.size(); ++axis) {
    if (!axes.reduced[axis]) continue;
    box.begin[axis] = reduced.begin[axis];
    box.extent[axis] = reduced.extent[axis];
  }
  return box;
}

}  // namespace berth
