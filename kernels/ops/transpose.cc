// Transpose by any permutation of any rank.
//
// Lowering: where the innermost axes stay and make runs long enough, the DMA that loads a tile
// permutes it. Otherwise tiles are loaded as they stand, permuted by a copy inside the scratchpad
// and stored; tiles keep several elements of both the input's and the output's innermost axes, so
// that neither side moves element-sized runs.
#include <algorithm>

#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

// Axis i of the output is axis perm[i] of the input.
absl::StatusOr<std::vector<int>> Permutation(const OpCall& call) {
  const int rank = call.input(0).shape.rank();
  std::vector<int64_t> perm = call.node->attributes.Ints("perm");
  if (!call.node->attributes.Has("perm")) {
    for (int axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  if (static_cast<int>(perm.size()) != rank) {
    return InvalidArgument("perm has {} axes, the input has shape {}", perm.size(),
                           call.input(0).shape.ToString());
  }
  for (const int64_t axis : perm) {
    if (axis < 0) return InvalidArgument("perm names axis {}", axis);
  }
  auto axes = NormalizeAxes(perm, rank);
  if (!axes.ok()) return Annotate(axes.status(), "perm");
  return axes;
}

absl::StatusOr<std::vector<TensorType>> TransposeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(call));
  std::vector<int64_t> extents;
  for (const int axis : perm) extents.push_back(call.input(0).shape[axis]);
  return std::vector<TensorType>{{call.input(0).dtype, Shape(std::move(extents))}};
}

// Nothing moves where only axes of extent 1 change their order.
bool IsReshape(const OpCall& call) {
  const auto perm = Permutation(call);
  if (!perm.ok()) return false;
  int last = -1;
  for (const int axis : *perm) {
    if (call.input(0).shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

absl::Status ExpandTranspose(const OpCall& call, GraphRewriter& rewrite) {
  ApplyReshape(rewrite, call.node->inputs[0], call.output().shape, call.node->outputs[0]);
  return rewrite.status();
}

constexpr int64_t kRunBytes = 64;  // what a DMA run should at least have

std::vector<int> Perm(const OpCall& call) { return *Permutation(call); }

// Whether the axes that stay innermost are a run of their own.
bool IsPermutedByDma(const OpCall& call) {
  const std::vector<int> perm = Perm(call);
  int64_t run_bytes = DTypeBytes(call.input(0).dtype);
  for (int axis = static_cast<int>(perm.size()); axis-- > 0;) {
    if (perm[static_cast<size_t>(axis)] != axis) break;
    run_bytes *= call.input(0).shape[axis];
  }
  return run_bytes >= kRunBytes;
}

// Raises the granules of the output's loops so that the innermost axes of one side (`order`: its
// axes as output axes, outermost first) make a run.
void KeepRun(const std::vector<int>& order, int64_t run_bytes, IterationSpace& space) {
  const int last = static_cast<int>(space.size());
  for (size_t i = order.size(); i-- > 0 && run_bytes < kRunBytes;) {
    LoopDim& loop = space[static_cast<size_t>(order[i])];
    loop.granule = std::max(loop.granule, std::min(loop.extent, CeilDiv(kRunBytes, run_bytes)));
    loop.shrink_order = last;
    run_bytes *= std::max<int64_t>(loop.extent, 1);
  }
}

IterationSpace TransposeSpace(const OpCall& call) {
  IterationSpace space = AxisLoops(call.output().shape);
  if (IsPermutedByDma(call)) return space;
  const std::vector<int> perm = Perm(call);
  std::vector<int> output_order(perm.size()), input_order(perm.size());
  for (size_t axis = 0; axis < perm.size(); ++axis) {
    output_order[axis] = static_cast<int>(axis);
    input_order[static_cast<size_t>(perm[axis])] = static_cast<int>(axis);
  }
  const int64_t element_bytes = DTypeBytes(call.input(0).dtype);
  KeepRun(output_order, element_bytes, space);
  KeepRun(input_order, element_bytes, space);
  return space;
}

TileCost TransposeCost(const OpCall& call, const TileShape& tile) {
  const Extents extent(tile.begin(), tile.end());
  const int64_t tiles = IsPermutedByDma(call) ? 1 : 2;
  TileCost cost;
  cost.scratchpad_bytes = tiles * TileBytes(call.output().dtype, extent) + TailBytes(call, extent);
  return cost;
}

void TransposeTile(const OpCall& call, const std::vector<int>& perm, bool by_dma, const Box& box,
                   TileBuilder& builder) {
  const ValueId value = call.node->inputs[0], result = call.node->outputs[0];
  const size_t rank = perm.size();
  Box from = box;
  Extents order(rank), inverse(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto source = static_cast<size_t>(perm[axis]);
    from.begin[source] = box.begin[axis];
    from.extent[source] = box.extent[axis];
    order[axis] = perm[axis];
    inverse[source] = static_cast<int64_t>(axis);
  }
  const TileView tile = builder.OutputTile(result, call.output().dtype, box, "output");
  if (by_dma) {
    builder.LoadInto(value, from, tile.Permuted(inverse));
  } else {
    builder.Copy(tile, builder.Load(value, from, "input").Permuted(order));
  }
  builder.Store(result, box, EmitTail(*call.node, 0, box, tile, builder));
}

absl::Status LowerTranspose(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  const std::vector<int> perm = Perm(call);
  const bool by_dma = IsPermutedByDma(call);
  ForEachTile(call.output().shape.extents(), tile, [&](const Box& box) {
    TransposeTile(call, perm, by_dma, InWhole(box, call.part), builder);
  });
  return builder.status();
}

std::optional<PartRead> TransposePart(const OpCall& call, int, int axis, IndexRange outputs) {
  return PartRead{Perm(call)[static_cast<size_t>(axis)], outputs};
}

}  // namespace

const OpDef& TransposeOp() {
  static const OpDef def{.kind = OpKind::kTranspose,
                         .infer_types = TransposeTypes,
                         .expand = ExpandTranspose,
                         .part = TransposePart,
                         .iteration_space = TransposeSpace,
                         .tile_cost = TransposeCost,
                         .lower = LowerTranspose,
                         .expands = IsReshape};
  return def;
}

}  // namespace berth
