#include "kernels/ops/rolling_loader.h"

namespace berth {

int64_t RollingLoader::SharedRows(const Box& box) const {
  if (!held_) return 0;
  for (size_t axis = 0; axis < box.begin.size(); ++axis) {
    if (axis == row_axis_) continue;
    if (box.begin[axis] != held_box_.begin[axis] || box.extent[axis] != held_box_.extent[axis]) {
      return 0;
    }
  }
  const int64_t begin = box.begin[row_axis_], held_begin = held_box_.begin[row_axis_];
  const int64_t end = begin + box.extent[row_axis_];
  const int64_t held_end = held_begin + held_box_.extent[row_axis_];
  return begin >= held_begin && end >= held_end ? std::max<int64_t>(0, held_end - begin) : 0;
}

TileView RollingLoader::Load(const Box& box) {
  if (!rolls_ || builder_.IsResident(value_)) return builder_.LoadHeld(value_, box, "input");
  const int64_t shared = SharedRows(box);
  if (shared > 0 && shared == box.extent[row_axis_] &&
      box.begin[row_axis_] == held_box_.begin[row_axis_]) {
    return *held_;
  }
  TileView tile;
  if (shared == 0) {
    tile = builder_.Load(value_, box, "input");
  } else {
    tile = builder_.NewTile(builder_.LoadedDType(value_), box.extent, "input");
    Box rest = box;
    rest.begin[row_axis_] += shared;
    rest.extent[row_axis_] -= shared;
    Extents origin(box.begin.size(), 0), overlap = box.extent;
    overlap[row_axis_] = shared;
    Extents rest_origin = origin, held_origin = origin;
    rest_origin[row_axis_] = shared;
    held_origin[row_axis_] = box.begin[row_axis_] - held_box_.begin[row_axis_];
    if (rest.extent[row_axis_] > 0) {
      builder_.LoadInto(value_, rest, tile.Sub(rest_origin, rest.extent));
    }
    builder_.Copy(tile.Sub(origin, overlap), held_->Sub(held_origin, overlap));
  }
  held_box_ = box;
  held_ = tile;
  return tile;
}

}  // namespace berth
