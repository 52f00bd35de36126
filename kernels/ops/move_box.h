// The simplest lowering of a tile: a box of one value becomes a box of the node's output.
#pragma once

#include "kernels/op_def.h"
#include "kernels/tile_builder.h"

namespace berth {

// `from` and `to` have the same extents; applies the node's tail.
void MoveBox(const OpCall& call, ValueId value, const Box& from, const Box& to,
             TileBuilder& builder);

}  // namespace berth
