// The fused tail of a node: bias-like, activation and elementwise ops applied to a finished tile
// before it is stored.
#pragma once

#include "kernels/op_def.h"
#include "kernels/tile_builder.h"

namespace berth {

// What the matrix unit's output stage can take over from the beginning of a tail.
struct AbsorbedTail {
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;
  size_t ops = 0;  // how many tail ops it replaces (0 or 1)
};
AbsorbedTail AbsorbActivation(const Graph& graph, const Node& node);

// Applies tail ops [first, end) to `tile`, which holds `box` of output 0 (of the whole node);
// loads the other operands' boxes (held while they stay the same). Returns the tile that holds the
// result (the same one unless the dtype changes).
TileView EmitTail(const Node& node, size_t first, const Box& box, TileView tile,
                  TileBuilder& builder);

// Scratchpad bytes that the operands of the tail need for a tile of `box_extent` of output 0.
int64_t TailBytes(const OpCall& call, const Extents& box_extent);

}  // namespace berth
