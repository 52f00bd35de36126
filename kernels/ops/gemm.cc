// Gemm: alpha * A' * B' + beta * C. Expands to MatMul (with its transposed forms and its bias over
// columns) and elementwise ops.
//
// Formula: ONNX Gemm.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferGemm(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kNumeric));
  const TensorType& a = call.input(0);
  const TensorType& b = call.input(1);
  if (a.shape.rank() != 2 || b.shape.rank() != 2) {
    return InvalidArgument("A {} and B {} are not both matrices", a.shape.ToString(),
                           b.shape.ToString());
  }
  if (a.dtype != b.dtype || (call.HasInput(2) && call.input(2).dtype != a.dtype)) {
    return InvalidArgument("A, B and C differ in dtype");
  }
  const bool trans_a = call.node->attributes.Int("transA", 0) != 0;
  const bool trans_b = call.node->attributes.Int("transB", 0) != 0;
  const int64_t a_inner = a.shape[trans_a ? 0 : 1];
  const int64_t b_inner = b.shape[trans_b ? 1 : 0];
  if (a_inner != b_inner) {
    return InvalidArgument("inner extents {} of A {} and {} of B {} differ", a_inner,
                           a.shape.ToString(), b_inner, b.shape.ToString());
  }
  const Shape result{a.shape[trans_a ? 1 : 0], b.shape[trans_b ? 0 : 1]};
  if (call.HasInput(2)) {
    BERTH_ASSIGN_OR_RETURN(const Shape both, BroadcastShapes(call.input(2).shape, result));
    if (both != result) {
      return InvalidArgument("C {} does not broadcast to {}", call.input(2).shape.ToString(),
                             result.ToString());
    }
  }
  return std::vector<TensorType>{{a.dtype, result}};
}

// C * beta, as the same value when beta is 1.
ValueId ScaledAddend(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const float beta = node.attributes.Float("beta", 1.0f);
  if (beta == 1.0f) return node.inputs[2];
  const ValueId factor = rewrite.Constant(ScalarTensor(call.input(2).dtype, beta));
  return rewrite.Apply(OpKind::kMul, {node.inputs[2], factor});
}

absl::Status ExpandGemm(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const ValueId result = node.outputs[0];
  const float alpha = node.attributes.Float("alpha", 1.0f);
  const bool adds = call.HasInput(2) && node.attributes.Float("beta", 1.0f) != 0.0f;
  const int64_t columns = call.output().shape[1];
  std::vector<ValueId> operands = {node.inputs[0], node.inputs[1]};
  // A row vector goes into the output stage of the matrix unit.
  const bool adds_row = adds && alpha == 1.0f && IsFloat(call.output().dtype) &&
                        call.input(2).shape.rank() > 0 && call.input(2).shape.back() == columns &&
                        call.input(2).shape.ElementCount() == columns;
  if (adds_row) {
    ValueId row = ScaledAddend(call, rewrite);
    if (call.input(2).shape.rank() > 1) {
      row = rewrite.Apply(OpKind::kReshape, {row, rewrite.Int64s({columns})});
    }
    operands.push_back(row);
  }
  Attributes attributes;
  attributes.Set("transA", node.attributes.Int("transA", 0));
  attributes.Set("transB", node.attributes.Int("transB", 0));
  const bool scales = alpha != 1.0f;
  const bool adds_later = adds && !adds_row;
  ValueId value = rewrite.Apply(OpKind::kMatMul, std::move(operands), std::move(attributes),
                                scales || adds_later ? ValueId::kNone : result);
  if (scales) {
    const ValueId factor = rewrite.Constant(ScalarTensor(call.output().dtype, alpha));
    value = rewrite.Apply(OpKind::kMul, {value, factor}, {}, adds_later ? ValueId::kNone : result);
  }
  if (adds_later) {
    rewrite.Apply(OpKind::kAdd, {value, ScaledAddend(call, rewrite)}, {}, result);
  }
  return rewrite.status();
}

}  // namespace

const OpDef& GemmOp() {
  static const OpDef op = {.kind = OpKind::kGemm, .infer_types = InferGemm, .expand = ExpandGemm};
  return op;
}

}  // namespace berth
