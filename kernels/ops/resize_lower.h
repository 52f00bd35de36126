// Tile decisions and lowering of Resize and Upsample.
#pragma once

#include "kernels/op_def.h"

namespace berth {

std::optional<PartRead> ResizePart(const OpCall& call, int input, int axis, IndexRange outputs);
IterationSpace ResizeSpace(const OpCall& call);
TileCost ResizeCost(const OpCall& call, const TileShape& tile);
absl::Status LowerResize(const OpCall& call, const TileShape& tile, TileBuilder& builder);

}  // namespace berth
