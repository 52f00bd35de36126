// MatMul: the product of matrices with broadcast leading axes.
//
// Formula: ONNX MatMul (NumPy matmul). Beyond ONNX, for rewrites: attributes transA and transB (the
// last two axes of the operand stand swapped) and a third input, a bias over the columns.
#include "kernels/ops/matmul.h"

#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/quantized_product.h"

namespace berth {

bool MatrixProduct::shares_b() const {
  return std::all_of(b_batch.begin(), b_batch.end(), [](int64_t extent) { return extent == 1; });
}

bool RunsOnMatrixUnit(const OpCall& call) {
  if (IsQuantizedProduct(*call.node)) return true;
  const DType dtype = call.output().dtype;
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

absl::StatusOr<MatrixProduct> ResolveMatMul(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kNumeric));
  const TensorType& a = call.input(0);
  const TensorType& b = call.input(1);
  const bool quantized = IsQuantizedProduct(*call.node);
  if (quantized) BERTH_RETURN_IF_ERROR(CheckQuantizedProduct(call));
  if (!quantized && a.dtype != b.dtype) {
    return InvalidArgument("A is {}, B is {}", DTypeName(a.dtype), DTypeName(b.dtype));
  }
  if (a.shape.rank() < 1 || b.shape.rank() < 1) {
    return InvalidArgument("A {} or B {} is a scalar", a.shape.ToString(), b.shape.ToString());
  }
  MatrixProduct product;
  product.a_rank = a.shape.rank();
  product.b_rank = b.shape.rank();
  product.trans_a = !product.a_is_vector() && call.node->attributes.Int("transA", 0) != 0;
  product.trans_b = !product.b_is_vector() && call.node->attributes.Int("transB", 0) != 0;
  std::vector<int64_t> a_extents = a.shape.extents();
  std::vector<int64_t> b_extents = b.shape.extents();
  if (product.a_is_vector()) a_extents.insert(a_extents.begin(), 1);
  if (product.b_is_vector()) b_extents.push_back(1);
  const size_t a_rank = a_extents.size();
  const size_t b_rank = b_extents.size();
  if (product.trans_a) std::swap(a_extents[a_rank - 1], a_extents[a_rank - 2]);
  if (product.trans_b) std::swap(b_extents[b_rank - 1], b_extents[b_rank - 2]);
  product.rows = a_extents[a_rank - 2];
  product.inner = a_extents[a_rank - 1];
  product.columns = b_extents[b_rank - 1];
  if (b_extents[b_rank - 2] != product.inner) {
    return InvalidArgument("inner extents {} of A {} and {} of B {} differ", product.inner,
                           a.shape.ToString(), b_extents[b_rank - 2], b.shape.ToString());
  }
  product.a_batch.assign(a_extents.begin(), a_extents.end() - 2);
  product.b_batch.assign(b_extents.begin(), b_extents.end() - 2);
  const size_t batch_rank = std::max(a_rank, b_rank) - 2;
  product.a_batch.insert(product.a_batch.begin(), batch_rank - product.a_batch.size(), 1);
  product.b_batch.insert(product.b_batch.begin(), batch_rank - product.b_batch.size(), 1);
  BERTH_ASSIGN_OR_RETURN(const Shape batch,
                         BroadcastShapes(Shape(product.a_batch), Shape(product.b_batch)));
  product.batch = batch.extents();
  if (quantized && product.inner == 0) return Unimplemented("an integer product of no terms");
  if (call.HasInput(2) &&
      (call.input(2).shape != Shape{product.columns} || (!quantized && !BiasFits(call)))) {
    return InvalidArgument("the bias is {}, not {}[{}]", call.input(2).ToString(),
                           DTypeName(a.dtype), product.columns);
  }
  return product;
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferMatMul(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const MatrixProduct product, ResolveMatMul(call));
  std::vector<int64_t> extents = product.batch;
  if (!product.a_is_vector()) extents.push_back(product.rows);
  if (!product.b_is_vector()) extents.push_back(product.columns);
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  return std::vector<TensorType>{{ProductDType(call), std::move(shape)}};
}

}  // namespace

const OpDef& MatMulOp() {
  static const OpDef op = {.kind = OpKind::kMatMul,
                           .infer_types = InferMatMul,
                           .iteration_space = MatMulSpace,
                           .tile_cost = MatMulCost,
                           .lower = LowerMatMul,
                           .choose_tile = ChooseMatMulTile};
  return op;
}

}  // namespace berth
