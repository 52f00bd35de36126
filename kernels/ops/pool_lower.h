// Tile decisions and lowering of MaxPool and AveragePool.
#pragma once

#include "kernels/op_def.h"

namespace berth {

std::optional<PartRead> PoolPart(const OpCall& call, int input, int axis, IndexRange outputs);
IterationSpace PoolSpace(const OpCall& call);
TileCost PoolCost(const OpCall& call, const TileShape& tile);
absl::Status LowerPool(const OpCall& call, const TileShape& tile, TileBuilder& builder);

}  // namespace berth
