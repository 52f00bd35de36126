#include "kernels/ops/move_box.h"

#include "kernels/tail.h"

namespace berth {

void MoveBox(const OpCall& call, ValueId value, const Box& from, const Box& to,
             TileBuilder& builder) {
  const ValueId result = call.node->outputs[0];
  // A resident value is stored from where it stands; a tail needs a tile that it may overwrite.
  if (builder.IsResident(value) && !builder.IsResident(result) && call.node->tail.empty()) {
    return builder.Store(result, to, builder.Load(value, from, "input"));
  }
  const TileView tile = builder.OutputTile(result, call.output().dtype, to, "output");
  builder.LoadInto(value, from, tile);
  builder.Store(result, to, EmitTail(*call.node, 0, to, tile, builder));
}

}  // namespace berth
