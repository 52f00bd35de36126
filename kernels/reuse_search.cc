#include "kernels/reuse_search.h"

#include <algorithm>
#include <optional>

#include "base/checked_math.h"

namespace berth {
namespace {

// Tile extents of a loop, descending: about two in each octave, evened out over their tiles.
std::vector<int64_t> Candidates(const LoopDim& loop) {
  std::vector<int64_t> extents = {loop.extent};
  const int64_t granules = CeilDiv(loop.extent, loop.granule);
  for (int64_t tiles = 2; extents.back() > loop.granule; tiles += std::max<int64_t>(1, tiles / 2)) {
    const int64_t extent = CeilDiv(granules, std::min(tiles, granules)) * loop.granule;
    if (extent < extents.back()) extents.push_back(extent);
  }
  return extents;
}

// Tiles of the chain's loops from the whole extents to the smallest.
std::vector<TileShape> Chain(const ReuseSearch& search, TileShape tile) {
  for (size_t loop : search.chain) tile[loop] = search.space[loop].extent;
  std::vector<TileShape> chain = {tile};
  for (size_t loop : search.chain) {
    for (int64_t extent : Candidates(search.space[loop])) {
      if (extent == chain.back()[loop]) continue;
      chain.push_back(chain.back());
      chain.back()[loop] = extent;
    }
  }
  return chain;
}

class Searcher {
 public:
  explicit Searcher(const ReuseSearch& search) : search_(search) {}

  std::optional<TileShape> Run() {
    TileShape tile;
    for (const LoopDim& loop : search_.space) tile.push_back(loop.extent);
    chain_ = Chain(search_, tile);
    Enumerate(0, tile);
    return best_;
  }

 private:
  void Enumerate(size_t depth, TileShape& tile) {
    if (depth == search_.free.size()) return TryChain(tile);
    const size_t loop = search_.free[depth];
    for (int64_t extent : Candidates(search_.space[loop])) {
      tile[loop] = extent;
      Enumerate(depth + 1, tile);
    }
  }

  // In one place for all: a search looks at thousands of tiles.
  const TileShape& OnChain(const TileShape& tile, size_t step) {
    joined_ = tile;
    for (size_t loop : search_.chain) joined_[loop] = chain_[step][loop];
    if (search_.complete) search_.complete(joined_);
    return joined_;
  }

  void TryChain(const TileShape& tile) {
    if (search_.is_useful && !search_.is_useful(tile)) return;
    if (!Fits(OnChain(tile, chain_.size() - 1))) return;
    size_t low = 0, high = chain_.size() - 1;  // the first step that fits is in [low, high]
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (Fits(OnChain(tile, middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    // Smaller tiles overlap loads with work: a few steps further may be better.
    constexpr size_t kLookAhead = 4;
    for (size_t step = low; step < std::min(low + kLookAhead, chain_.size()); ++step) {
      const TileShape& joined = OnChain(tile, step);
      if (step == low || Fits(joined)) Consider(joined);
    }
  }

  bool Fits(const TileShape& tile) const {
    const TileCost cost = search_.cost(tile);
    return cost.scratchpad_bytes <= search_.budget.scratchpad_bytes &&
           cost.accumulator_bytes <= search_.budget.accumulator_bytes;
  }

  void Consider(const TileShape& tile) {
    const int64_t objective = search_.objective(tile);
    if (best_ && objective >= best_objective_) return;
    best_ = tile;
    best_objective_ = objective;
  }

  const ReuseSearch& search_;
  std::vector<TileShape> chain_;
  TileShape joined_;
  std::optional<TileShape> best_;
  int64_t best_objective_ = 0;
};

}  // namespace

absl::StatusOr<TileShape> SearchTile(const ReuseSearch& search) {
  std::optional<TileShape> best = Searcher(search).Run();
  if (best) return *std::move(best);
  TileShape smallest;
  for (const LoopDim& loop : search.space) smallest.push_back(std::min(loop.granule, loop.extent));
  if (search.complete) search.complete(smallest);
  return TileTooLarge(search.cost(smallest), search.budget);
}

}  // namespace berth
