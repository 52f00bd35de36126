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

// The tail's needs of scratchpad, worked out once for the many tiles that a search tries:
// attributes are read, and what runs in place is found, in the constructor only.
class TailBuffers {
 public:
  explicit TailBuffers(const OpCall& call);  // which must outlive this

  // For a tile of `box_extent` of output 0.
  int64_t Bytes(const Extents& box_extent) const;

 private:
  struct Buffer {
    TensorType type;          // without a shape where it has the extents of the result's box
    bool is_operand = false;  // has those that the box needs of it
  };
  void AddOperands(const FusedOp& fused, absl::Span<const TensorType> operands,
                   absl::Span<const bool> on_chip, DType flow);

  absl::InlinedVector<Buffer, 4> buffers_;
};

// For one tile.
inline int64_t TailBytes(const OpCall& call, const Extents& box_extent) {
  return TailBuffers(call).Bytes(box_extent);
}

}  // namespace berth
