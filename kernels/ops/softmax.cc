// Softmax and LogSoftmax. Before opset 13 the axes from `axis` on count as one.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_axes.h"
#include "kernels/rewrite.h"

namespace berth {
namespace {

bool IsFlattened(const OpCall& call) { return call.node->opset > 0 && call.node->opset < 13; }

absl::StatusOr<int> SoftmaxAxis(const OpCall& call) {
  return ResolveAxis(call, IsFlattened(call) ? 1 : -1);
}

absl::StatusOr<std::vector<TensorType>> SoftmaxTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (const auto axis = SoftmaxAxis(call); !axis.ok()) return axis.status();
  return std::vector<TensorType>{call.input(0)};
}

bool Expands(const OpCall& call) {
  const auto axis = SoftmaxAxis(call);
  return IsFlattened(call) && axis.ok() && *axis != call.input(0).shape.rank() - 1;
}

absl::Status Expand(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const int axis, SoftmaxAxis(call));
  const Shape& shape = call.input(0).shape;
  const ValueId flat = rewrite.Apply(
      OpKind::kReshape,
      {call.node->inputs[0],
       rewrite.Int64s({shape.Product(0, axis), shape.Product(axis, shape.rank())})});
  const ValueId result = rewrite.Apply(call.node->kind, {flat});
  rewrite.Apply(OpKind::kReshape, {result, rewrite.Int64s(shape.extents())}, {},
                call.node->outputs[0]);
  return rewrite.status();
}

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = SoftmaxTypes;
  def.expand = Expand;
  def.expands = Expands;
  return def;
}

}  // namespace

const OpDef& SoftmaxOp() {
  static const OpDef def = Define(OpKind::kSoftmax);
  return def;
}

const OpDef& LogSoftmaxOp() {
  static const OpDef def = Define(OpKind::kLogSoftmax);
  return def;
}

}  // namespace berth
