// What tile searches minimise: the time that an op takes with a tile, on its machine.
#pragma once

#include <algorithm>

#include "base/checked_math.h"
#include "kernels/tile_builder.h"
#include "npu_sim/config.h"
#include "npu_sim/timing.h"

namespace berth {

struct TileTime {
  int64_t matrix_cycles = 0;
  int64_t command_cycles = 0;    // beside the work (TileBudget::command_cycles), of all commands
  int64_t moved_bytes = 0;       // between DRAM and scratchpad, beside the computation
  int64_t exposed_bytes = 0;     // while nothing can be computed
  bool sums_over_tiles = false;  // an output is summed up in several commands
  bool whole_sums = false;       // TileBudget::whole_sums, where it matters
};

// The longer of computation and transfers and a share of the other, since they overlap imperfectly;
// transfers once more, for energy and for what else needs them. Sums in several commands read the
// accumulators again.
inline int64_t TotalCycles(const TileTime& time, const DramConfig& dram) {
  constexpr int64_t kImperfectPercent = 20, kSumsPercent = 4, kUnwantedSumsPercent = 1000;
  const int64_t dram_cycles = PeakDramCycles(time.moved_bytes, dram);
  const int64_t longer = std::max(time.matrix_cycles, dram_cycles);
  const int64_t other = std::min(time.matrix_cycles, dram_cycles);
  const int64_t cycles = longer + other * kImperfectPercent / 100 + dram_cycles +
                         PeakDramCycles(time.exposed_bytes, dram) + time.command_cycles;
  if (!time.sums_over_tiles) return cycles;
  return cycles + CeilDiv(cycles * (time.whole_sums ? kUnwantedSumsPercent : kSumsPercent), 100);
}

// Each tile has loads and a store beside its commands of the matrix unit.
inline constexpr int64_t kMovesOfTile = 3;

// A command of the matrix unit as far as its cycles go: extents and dtypes of the operands.
inline Command MatrixCommand(Opcode opcode, const Extents& extent, const OpCall& call) {
  Command command;
  command.opcode = opcode;
  command.params.matrix = {};
  for (size_t i = 0; i < extent.size(); ++i) command.extent[i] = static_cast<int32_t>(extent[i]);
  command.in0.dtype = call.input(0).dtype;
  command.in1.dtype = call.input(1).dtype;
  return command;
}

// Calls visit(size, count) for the tiles of `tile` of an extent: full ones and the rest.
template <typename Visit>
void ForTileSizes(int64_t extent, int64_t tile, Visit&& visit) {
  if (extent / tile > 0) visit(tile, extent / tile);
  if (extent % tile > 0) visit(extent % tile, int64_t{1});
}

}  // namespace berth
