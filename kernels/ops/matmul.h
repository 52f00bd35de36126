// The product of matrices, resolved from a MatMul node.
#pragma once

#include "kernels/op_def.h"

namespace berth {

// Y[batch, rows, columns] = A[batch, rows, inner] * B[batch, inner, columns]. `batch` holds the
// broadcast leading extents; those of A and B are as long, with 1 where they are broadcast.
struct MatrixProduct {
  std::vector<int64_t> batch, a_batch, b_batch;
  int64_t rows = 1, columns = 1, inner = 1;
  bool a_is_vector = false, b_is_vector = false;
  bool trans_a = false, trans_b = false;  // the last two axes stand swapped in memory
};

absl::StatusOr<MatrixProduct> ResolveMatMul(const OpCall& call);

}  // namespace berth
