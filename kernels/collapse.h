// Loops of views that are walked together (same extents): merged where all views allow, and split
// where a command's four loops do not suffice.
#pragma once

#include "absl/types/span.h"
#include "kernels/tile_builder.h"

namespace berth {

inline constexpr int kCommandLoops = 4;

// Drops axes of extent 1 and merges neighbours that are one regular loop in every view.
void CollapseViews(absl::Span<TileView> views);

// Gives the views rank 4 by axes of extent 1 in front (at most four axes).
void PadToCommand(absl::Span<TileView> views);

// The axis to walk by several commands: a stride beyond 32 bits, else the smallest extent while
// there are more than `loops`; -1 when the views fit one command. Among the latter, axes along
// which the first view has a stride are preferred.
int AxisToSplit(absl::Span<const TileView> views, int loops);

// Element `index` along `axis`, the axis dropped.
TileView SliceAt(const TileView& view, int axis, int64_t index);

}  // namespace berth
