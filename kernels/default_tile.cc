#include <algorithm>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "kernels/read_scale.h"

namespace berth {
namespace {

bool Fits(const TileCost& cost, const TileBudget& budget) {
  return cost.scratchpad_bytes <= budget.scratchpad_bytes &&
         cost.accumulator_bytes <= budget.accumulator_bytes;
}

// The loop to halve next: lowest shrink order, then the one with most granules; -1: none is left.
int LoopToShrink(const IterationSpace& space, const TileShape& tile) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(space.size()); ++i) {
    const LoopDim& loop = space[static_cast<size_t>(i)];
    if (loop.shrink_order < 0 || tile[static_cast<size_t>(i)] <= loop.granule) continue;
    if (best >= 0) {
      const LoopDim& chosen = space[static_cast<size_t>(best)];
      if (loop.shrink_order > chosen.shrink_order) continue;
      if (loop.shrink_order == chosen.shrink_order &&
          tile[static_cast<size_t>(i)] / loop.granule <=
              tile[static_cast<size_t>(best)] / chosen.granule) {
        continue;
      }
    }
    best = i;
  }
  return best;
}

// The largest extent in [extent, limit) of loop `axis` that fits, evened out over its tiles: the
// halving overshoots by up to two.
void GrowAndBalance(const OpDef& op, const OpCall& call, const TileBudget& budget,
                    const LoopDim& loop, size_t axis, int64_t limit, TileShape& tile) {
  int64_t fitting = CeilDiv(tile[axis], loop.granule);
  int64_t failing = CeilDiv(limit, loop.granule);
  while (failing - fitting > 1) {
    const int64_t middle = fitting + (failing - fitting) / 2;
    tile[axis] = middle * loop.granule;
    (Fits(TileCostOf(op, call, tile), budget) ? fitting : failing) = middle;
  }
  const int64_t granules = CeilDiv(loop.extent, loop.granule);
  tile[axis] = CeilDiv(granules, CeilDiv(granules, fitting)) * loop.granule;
}

}  // namespace

TileCost TileCostOf(const OpDef& op, const OpCall& call, const TileShape& tile) {
  TileCost cost = op.tile_cost(call, tile);
  // Stored elements have at most two of a float's four bytes.
  if (HasReadScales(call.node->attributes)) cost.scratchpad_bytes += cost.scratchpad_bytes / 2;
  return cost;
}

absl::Status TileTooLarge(const TileCost& least, const TileBudget& available) {
  return ResourceExhausted(
      "the smallest tile needs {} bytes of scratchpad and {} of accumulators, {} and {} are "
      "available",
      least.scratchpad_bytes, least.accumulator_bytes, available.scratchpad_bytes,
      available.accumulator_bytes);
}

absl::StatusOr<TileShape> DefaultTile(const OpDef& op, const OpCall& call,
                                      const TileBudget& budget) {
  const IterationSpace space = op.iteration_space(call);
  TileShape tile;
  bool empty = false;
  for (const LoopDim& loop : space) {
    tile.push_back(loop.extent);
    empty = empty || loop.extent == 0;
  }
  if (empty) return tile;  // nothing will be emitted
  if (op.choose_tile != nullptr) {
    return op.choose_tile(call, budget);
  }
  int last = -1;
  int64_t last_failing_extent = 0;
  TileCost cost = TileCostOf(op, call, tile);
  while (!Fits(cost, budget)) {
    last = LoopToShrink(space, tile);
    if (last < 0) {
      return TileTooLarge(cost, budget);
    }
    const LoopDim& loop = space[static_cast<size_t>(last)];
    int64_t& extent = tile[static_cast<size_t>(last)];
    last_failing_extent = extent;
    extent = CeilDiv(CeilDiv(extent, loop.granule), 2) * loop.granule;
    cost = TileCostOf(op, call, tile);
  }
  if (last >= 0) {
    GrowAndBalance(op, call, budget, space[static_cast<size_t>(last)], static_cast<size_t>(last),
                   last_failing_extent, tile);
  }
  return tile;
}

}  // namespace berth
