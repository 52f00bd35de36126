// Activations as [batch, depth, height, width, channels], whatever the rank of the value: axes that
// it lacks are of one sample.
#pragma once

#include "kernels/ops/conv_axis.h"
#include "kernels/tile_builder.h"

namespace berth {

enum ImageAxis : size_t { kN, kD, kH, kW, kC };

struct ImageRange {
  IndexRange batch;
  IndexRange space[3];  // depth, height, width
  IndexRange channels;
};

// The box of a value with `missing` spatial axes less than three.
inline Box ImageBox(const ImageRange& range, size_t missing) {
  Box box;
  const auto push = [&](IndexRange axis) {
    box.begin.push_back(axis.begin);
    box.extent.push_back(axis.count);
  };
  push(range.batch);
  for (size_t i = missing; i < 3; ++i) push(range.space[i]);
  push(range.channels);
  return box;
}

// The view with `missing` axes of one sample inserted at `position`.
inline TileView WithMissingAxes(TileView view, size_t position, size_t missing) {
  const auto at = static_cast<ptrdiff_t>(position);
  view.extent.insert(view.extent.begin() + at, missing, 1);
  view.stride_bytes.insert(view.stride_bytes.begin() + at, missing, 0);
  return view;
}

// Elements first, first + step, ... (count of them) of one axis; steps may go backwards.
inline TileView Stepped(TileView view, size_t axis, int64_t first, int64_t step, int64_t count) {
  view.offset_bytes += first * view.stride_bytes[axis];
  view.stride_bytes[axis] *= step;
  view.extent[axis] = count;
  return view;
}
inline TileView Part(TileView view, size_t axis, IndexRange range) {
  return Stepped(std::move(view), axis, range.begin, 1, range.count);
}

// Calls body(range) for the tiles of `step` of [0, extent).
template <typename Body>
void ForEachTile(int64_t extent, int64_t step, Body&& body) {
  for (int64_t begin = 0; begin < extent; begin += step) {
    body(IndexRange{begin, std::min(step, extent - begin)});
  }
}

}  // namespace berth
