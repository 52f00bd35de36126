// Tile decisions and lowering of Resize and Upsample.
#pragma once

#include "kernels/op_def.h"

namespace berth {

IterationSpace ResizeSpace(const OpCall& call);
TileCost ResizeCost(const OpCall& call, const TileShape& tile);
absl::Status LowerResize(const OpCall& call, const TileShape& tile, TileBuilder& builder);

}  // namespace berth
