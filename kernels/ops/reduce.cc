// ReduceSum, ReduceMean, ReduceMax, ReduceMin over any axes.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_axes.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> ReduceTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, ResolveReducedAxes(call));
  return std::vector<TensorType>{
      {call.input(0).dtype, axes.OutputShape(call.input(0).shape)}};
}

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = ReduceTypes;
  return def;
}

}  // namespace

#define BERTH_REDUCE_OP(NAME)                              \
  const OpDef& NAME##Op() {                                \
    static const OpDef def = Define(OpKind::k##NAME);      \
    return def;                                            \
  }
BERTH_REDUCE_OP(ReduceSum)
BERTH_REDUCE_OP(ReduceMean)
BERTH_REDUCE_OP(ReduceMax)
BERTH_REDUCE_OP(ReduceMin)
#undef BERTH_REDUCE_OP

}  // namespace berth
