// Tile decisions of matrix products.
#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/moved_bytes.h"
#include "kernels/ops/tile_time.h"
#include "kernels/reuse_search.h"
#include "kernels/tail.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

struct MatMulProblem {
  const OpCall& call;
  MatrixProduct product;
  MatMulLoops loops;
  int64_t element_bytes;  // of A
  int64_t weight_bytes, output_bytes;
  TailBuffers tail;

  explicit MatMulProblem(const OpCall& c)
      : call(c),
        product(*ResolveMatMul(c)),
        loops(product),
        element_bytes(DTypeBytes(c.input(0).dtype)),
        weight_bytes(DTypeBytes(c.input(1).dtype)),
        output_bytes(DTypeBytes(c.output().dtype)),
        tail(c) {}
};

// Elements of the batch part of an operand's tile.
int64_t BatchTile(const TileShape& t, const std::vector<int64_t>& own) {
  int64_t elements = 1;
  for (size_t i = 0; i < own.size(); ++i) elements *= std::min(t[i], own[i]);
  return elements;
}

int64_t ATileBytes(const MatMulProblem& p, const TileShape& t) {
  if (p.call.IsOnChip(0)) return 0;
  return AlignUp(
      BatchTile(t, p.product.a_batch) * t[p.loops.rows] * t[p.loops.inner] * p.element_bytes, 64);
}
int64_t BTileBytes(const MatMulProblem& p, const TileShape& t) {
  if (p.call.IsOnChip(1)) return 0;
  return AlignUp(
      BatchTile(t, p.product.b_batch) * t[p.loops.inner] * t[p.loops.columns] * p.weight_bytes, 64);
}
int64_t OutputElements(const MatMulProblem& p, const TileShape& t) {
  return BatchTile(t, p.product.batch) * t[p.loops.rows] * t[p.loops.columns];
}

int64_t OutputTileBytes(const MatMulProblem& p, const TileShape& t) {
  return p.call.output_on_chip ? 0 : AlignUp(OutputElements(p, t) * p.output_bytes, 64);
}

Extents OutputBoxExtent(const MatMulProblem& p, const TileShape& t) {
  Extents extent(t.begin(), t.begin() + static_cast<ptrdiff_t>(p.product.batch_rank()));
  if (!p.product.a_is_vector()) extent.push_back(t[p.loops.rows]);
  if (!p.product.b_is_vector()) extent.push_back(t[p.loops.columns]);
  return extent;
}

bool SumsOverTiles(const MatMulProblem& p, const TileShape& t) {
  return t[p.loops.inner] < p.product.inner;
}

// A tile that sums over several tiles of the inner axis keeps all its sums, in at most one
// accumulator for each matrix of the batch; otherwise those of one command.
int64_t AccumulatorBytes(const MatMulProblem& p, const TileShape& t) {
  if (SumsOverTiles(p, t)) {
    return OutputElements(p, t) * 4 + BatchTile(t, p.product.batch) * kAccumulatorPadBytes;
  }
  return AlignUp(t[p.loops.command_rows] * t[p.loops.columns] * 4, 64);
}

TileCost CostOf(const MatMulProblem& p, const TileShape& t) {
  TileCost cost;
  cost.scratchpad_bytes = ATileBytes(p, t) + BTileBytes(p, t) + OutputTileBytes(p, t) +
                          p.tail.Bytes(OutputBoxExtent(p, t));
  if (p.call.HasInput(2)) {
    const int64_t bias_bytes = DTypeBytes(p.call.input(2).dtype);
    // A narrow bias is widened for the sums; where there are none it takes the result's dtype.
    const int64_t cast_bytes = bias_bytes < 4 ? 4 : p.product.inner == 0 ? p.output_bytes : 0;
    cost.scratchpad_bytes +=
        AlignUp(t[p.loops.columns] * bias_bytes, 64) + AlignUp(t[p.loops.columns] * cast_bytes, 64);
  }
  if (RunsOnMatrixUnit(p.call)) {
    cost.accumulator_bytes = AccumulatorBytes(p, t);
  } else {  // the products of one row, before they are summed
    cost.scratchpad_bytes += AlignUp(t[p.loops.columns] * t[p.loops.inner] * p.element_bytes, 64);
  }
  return cost;
}

// The largest commands whose sums fit.
void SetCommandRows(const MatMulProblem& p, int64_t accumulator_budget_bytes, TileShape& t) {
  const int64_t rows = BatchTile(t, p.product.batch) * t[p.loops.rows];
  const int64_t fitting = accumulator_budget_bytes / 4 / std::max<int64_t>(1, t[p.loops.columns]);
  t[p.loops.command_rows] = SumsOverTiles(p, t) ? rows : std::clamp<int64_t>(fitting, 1, rows);
}

struct MatMulTraffic {
  int64_t columns_outer_bytes = 0, rows_outer_bytes = 0, tiles = 0;
};

MatMulTraffic TrafficOf(const MatMulProblem& p, const TileShape& t) {
  const MatrixProduct& m = p.product;
  int64_t batch_tiles = 1;
  for (size_t i = 0; i < m.batch_rank(); ++i) batch_tiles *= CeilDiv(m.batch[i], t[i]);
  const int64_t row_tiles = CeilDiv(m.rows, t[p.loops.rows]);
  const int64_t column_tiles = CeilDiv(m.columns, t[p.loops.columns]);
  const int64_t inner_tiles = CeilDiv(m.inner, t[p.loops.inner]);
  const int64_t a_run = m.trans_a ? t[p.loops.rows] : t[p.loops.inner];
  const int64_t b_run = m.trans_b ? t[p.loops.inner] : t[p.loops.columns];
  const bool a_whole = a_run == (m.trans_a ? m.rows : m.inner);
  const bool b_whole = b_run == (m.trans_b ? m.inner : m.columns);
  const int64_t a = p.call.IsOnChip(0) ? 0
                                       : MovedBytes(p.call.input(0).ByteCount(),
                                                    a_whole ? 0 : a_run * p.element_bytes);
  const int64_t b = p.call.IsOnChip(1) ? 0
                                       : MovedBytes(p.call.input(1).ByteCount(),
                                                    b_whole ? 0 : b_run * p.weight_bytes);
  // A batch of B's has each matrix read by the row tiles of its own batch only.
  const int64_t b_readers = m.shares_b() ? batch_tiles * row_tiles : row_tiles;
  MatMulTraffic traffic;
  traffic.columns_outer_bytes = a * column_tiles + b * (inner_tiles > 1 ? b_readers : 1);
  traffic.rows_outer_bytes = a * (inner_tiles > 1 ? column_tiles : 1) +
                             b * (inner_tiles > 1 || column_tiles > 1 ? b_readers : 1);
  traffic.tiles = batch_tiles * row_tiles * column_tiles * inner_tiles;
  return traffic;
}

// Of all commands of the op, each with `command_cycles` more.
int64_t MatrixCycles(const MatMulProblem& p, const TileShape& t, const NpuConfig& machine,
                     int64_t command_cycles) {
  if (!RunsOnMatrixUnit(p.call)) return 0;
  const MatrixProduct& m = p.product;
  const int64_t batch = Shape(m.batch).ElementCount();
  const int64_t matrices = m.shares_b() ? 1 : batch;
  const int64_t all_rows = m.shares_b() ? batch * m.rows : m.rows;
  const int64_t tile_rows = (m.shares_b() ? BatchTile(t, m.batch) : 1) * t[p.loops.rows];
  const int64_t rows = std::min(tile_rows, t[p.loops.command_rows]);
  int64_t cycles = 0;
  ForTileSizes(m.columns, t[p.loops.columns], [&](int64_t columns, int64_t column_tiles) {
    ForTileSizes(m.inner, t[p.loops.inner], [&](int64_t inner, int64_t sums) {
      const Command command = MatrixCommand(Opcode::kGemm, {1, rows, columns, inner}, p.call);
      cycles += column_tiles * sums * (ComputeCycles(command, machine) + command_cycles);
    });
  });
  return cycles * matrices * CeilDiv(all_rows, rows);
}

int64_t Objective(const MatMulProblem& p, const TileShape& t, const TileBudget& budget) {
  const MatMulTraffic traffic = TrafficOf(p, t);
  const bool whole_rows = t[p.loops.columns] == p.product.columns;
  const int64_t output = p.call.output_on_chip
                             ? 0
                             : MovedBytes(p.call.output().ByteCount(),
                                          whole_rows ? 0 : t[p.loops.columns] * p.output_bytes);
  TileTime time;
  time.sums_over_tiles = SumsOverTiles(p, t);
  time.whole_sums = budget.whole_sums && IsFloat(p.call.input(0).dtype);
  time.matrix_cycles = MatrixCycles(p, t, budget.machine, budget.command_cycles);
  time.command_cycles = traffic.tiles * kMovesOfTile * budget.command_cycles;
  time.moved_bytes = std::min(traffic.columns_outer_bytes, traffic.rows_outer_bytes) + output +
                     traffic.tiles * kTileOverheadBytes;
  time.exposed_bytes = ATileBytes(p, t) + BTileBytes(p, t) + OutputTileBytes(p, t);
  return TotalCycles(time, budget.machine.dram);
}

}  // namespace

IterationSpace MatMulSpace(const OpCall& call) {
  const MatMulProblem p(call);
  IterationSpace space;
  for (int64_t extent : p.product.batch) space.push_back({"batch", extent, 1, 0});
  space.push_back({"rows", p.product.rows, 1, 1});
  const auto granule = [](int64_t extent) { return extent >= 16 ? int64_t{16} : extent; };
  space.push_back({"columns", p.product.columns, granule(p.product.columns), 2});
  space.push_back({"inner", p.product.inner, granule(p.product.inner), 3});
  space.push_back(
      {"rows of a command", Shape(p.product.batch).ElementCount() * p.product.rows, 1, -1});
  return space;
}

TileCost MatMulCost(const OpCall& call, const TileShape& tile) {
  return CostOf(MatMulProblem(call), tile);
}

bool MatMulColumnsOuter(const OpCall& call, const TileShape& tile) {
  const MatMulTraffic traffic = TrafficOf(MatMulProblem(call), tile);
  return traffic.columns_outer_bytes < traffic.rows_outer_bytes;
}

absl::StatusOr<TileShape> ChooseMatMulTile(const OpCall& call, const TileBudget& budget) {
  const MatMulProblem p(call);
  ReuseSearch search{.budget = budget};
  search.space = MatMulSpace(call);
  for (size_t i = 0; i <= p.loops.rows; ++i) search.chain.push_back(i);
  search.free = {p.loops.columns, p.loops.inner};
  search.complete = [&](TileShape& t) { SetCommandRows(p, budget.accumulator_bytes, t); };
  search.cost = [&](const TileShape& t) { return CostOf(p, t); };
  search.objective = [&](const TileShape& t) { return Objective(p, t, budget); };
  return SearchTile(search);
}

}  // namespace berth
