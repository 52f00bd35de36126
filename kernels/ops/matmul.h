// The product of matrices, resolved from a MatMul node; its tile decisions and lowering.
#pragma once

#include "kernels/op_def.h"

namespace berth {

// Y[batch, rows, columns] = A[batch, rows, inner] * B[batch, inner, columns]. `batch` holds the
// broadcast leading extents; those of A and B are as long, with 1 where they are broadcast.
struct MatrixProduct {
  std::vector<int64_t> batch, a_batch, b_batch;
  int64_t rows = 1, columns = 1, inner = 1;
  int a_rank = 2, b_rank = 2;             // of the operands
  bool trans_a = false, trans_b = false;  // the last two axes stand swapped in memory

  bool a_is_vector() const { return a_rank == 1; }
  bool b_is_vector() const { return b_rank == 1; }
  size_t batch_rank() const { return batch.size(); }
  // B is one matrix for the whole batch.
  bool shares_b() const;
};

absl::StatusOr<MatrixProduct> ResolveMatMul(const OpCall& call);

// Loops: the batch's axes, then rows, columns, inner, and the rows (of the batch together) that one
// command computes.
struct MatMulLoops {
  size_t rows, columns, inner, command_rows;
  explicit MatMulLoops(const MatrixProduct& p)
      : rows(p.batch_rank()), columns(rows + 1), inner(rows + 2), command_rows(rows + 3) {}
};
IterationSpace MatMulSpace(const OpCall& call);
TileCost MatMulCost(const OpCall& call, const TileShape& tile);
absl::StatusOr<TileShape> ChooseMatMulTile(const OpCall& call, const TileBudget& budget);
absl::Status LowerMatMul(const OpCall& call, const TileShape& tile, TileBuilder& builder);

// B stays while the tiles move over rows, or A stays while they move over columns: whichever moves
// fewer bytes.
bool MatMulColumnsOuter(const OpCall& call, const TileShape& tile);

// Whether the matrix unit multiplies (floats and integer forms); other products are made by the
// vector unit.
bool RunsOnMatrixUnit(const OpCall& call);

}  // namespace berth
