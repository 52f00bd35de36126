#include "kernels/collapse.h"

#include <limits>

namespace berth {
namespace {

void EraseAxis(TileView& view, size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  view.extent.erase(view.extent.begin() + at);
  view.stride_bytes.erase(view.stride_bytes.begin() + at);
}

// Axes `axis` and `axis + 1` are one loop in every view.
bool Merge(absl::Span<const TileView> views, size_t axis) {
  for (const TileView& view : views) {
    if (view.stride_bytes[axis] != view.stride_bytes[axis + 1] * view.extent[axis + 1]) {
      return false;
    }
  }
  return true;
}

bool FitsStride(absl::Span<const TileView> views, size_t axis) {
  for (const TileView& view : views) {
    const int64_t stride = view.stride_bytes[axis];
    if (stride > std::numeric_limits<int32_t>::max() ||
        stride < std::numeric_limits<int32_t>::min()) {
      return false;
    }
  }
  return true;
}

}  // namespace

void CollapseViews(absl::Span<TileView> views) {
  for (size_t axis = views[0].extent.size(); axis-- > 0;) {
    if (views[0].extent[axis] != 1) continue;
    for (TileView& view : views) EraseAxis(view, axis);
  }
  for (size_t axis = views[0].extent.size(); axis-- > 1;) {
    if (!Merge(views, axis - 1)) continue;
    for (TileView& view : views) {
      view.extent[axis - 1] *= view.extent[axis];
      view.stride_bytes[axis - 1] = view.stride_bytes[axis];
      EraseAxis(view, axis);
    }
  }
}

void PadToCommand(absl::Span<TileView> views) {
  for (TileView& view : views) {
    while (view.rank() < kCommandLoops) {
      view.extent.insert(view.extent.begin(), 1);
      view.stride_bytes.insert(view.stride_bytes.begin(), 0);
    }
  }
}

int AxisToSplit(absl::Span<const TileView> views, int loops) {
  const TileView& first = views[0];
  for (size_t axis = 0; axis < first.extent.size(); ++axis) {
    if (!FitsStride(views, axis)) return static_cast<int>(axis);
  }
  if (first.rank() <= loops) return -1;
  int best = 0;
  const auto cost = [&](int axis) {
    const auto i = static_cast<size_t>(axis);
    const bool repeats = first.stride_bytes[i] == 0;
    return std::pair(repeats, first.extent[i]);
  };
  for (int axis = 1; axis < first.rank(); ++axis) {
    if (cost(axis) < cost(best)) best = axis;
  }
  return best;
}

TileView SliceAt(const TileView& view, int axis, int64_t index) {
  TileView slice = view;
  slice.offset_bytes += index * view.stride_bytes[static_cast<size_t>(axis)];
  EraseAxis(slice, static_cast<size_t>(axis));
  return slice;
}

}  // namespace berth
