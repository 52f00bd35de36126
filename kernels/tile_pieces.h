// TileBuilder's walk over the four-loop pieces of views; private to its implementation files.
#pragma once

#include "kernels/collapse.h"

namespace berth {

inline constexpr std::array<int, 4> kAllLoops = {0, 1, 2, 3};

inline void SetExtents(Command& command, const TileView& piece) {
  for (size_t loop = 0; loop < 4; ++loop) {
    command.extent[loop] = static_cast<int32_t>(piece.extent[loop]);
  }
}

template <typename EmitPiece>
void TileBuilder::ForEachPiece(Pieces views, EmitPiece&& emit, int loops) {
  if (!status_.ok() || views[0].ElementCount() == 0) return;
  CollapseViews(absl::MakeSpan(views));
  const int axis = AxisToSplit(views, loops);
  if (axis < 0) {
    PadToCommand(absl::MakeSpan(views));
    emit(views);
    return;
  }
  const int64_t extent = views[0].extent[static_cast<size_t>(axis)];
  for (int64_t index = 0; index < extent; ++index) {
    Pieces slices;
    for (const TileView& view : views) slices.push_back(SliceAt(view, axis, index));
    ForEachPiece(std::move(slices), emit, loops);
  }
}

}  // namespace berth
