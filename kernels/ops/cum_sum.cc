// CumSum along one axis, by doubling: after the step of distance d every element is the sum of the
// 2 d elements up to it, so that log2(extent) additions of whole tensors make the running sums.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

struct CumSumForm {
  int axis = 0;
  bool exclusive = false, reverse = false;
};

absl::StatusOr<CumSumForm> Resolve(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> given, IntOperand(call, 1, "axis"));
  if (given.size() != 1) return InvalidArgument("axis has {} elements", given.size());
  CumSumForm form;
  BERTH_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(given[0], call.input(0).shape.rank()));
  form.exclusive = call.node->attributes.Int("exclusive", 0) != 0;
  form.reverse = call.node->attributes.Int("reverse", 0) != 0;
  return form;
}

absl::StatusOr<std::vector<TensorType>> CumSumTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_RETURN_IF_ERROR(Resolve(call).status());
  return std::vector<TensorType>{call.input(0)};
}

// Every element `distance` places further along the axis (or back), zeros where none comes from.
ValueId Shifted(GraphRewriter& rewrite, ValueId x, const CumSumForm& form, int64_t distance) {
  const Shape shape = rewrite.TypeOf(x).shape;
  const int64_t kept = shape[form.axis] - distance;
  const ValueId part = ApplySlice(rewrite, x, {form.axis, form.reverse ? distance : 0, kept});
  const auto rank = static_cast<size_t>(shape.rank()), axis = static_cast<size_t>(form.axis);
  std::vector<int64_t> pads(2 * rank, 0);
  pads[form.reverse ? rank + axis : axis] = distance;
  const ValueId zero = rewrite.Constant(ScalarTensor(rewrite.TypeOf(x).dtype, 0));
  return rewrite.Apply(OpKind::kPad, {part, rewrite.Int64s(pads), zero});
}

// 16-bit floats are summed in float32.
absl::Status ExpandCumSum(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const CumSumForm form, Resolve(call));
  const int64_t extent = call.input(0).shape[form.axis];
  const DType own = call.input(0).dtype;
  ValueId sums = call.node->inputs[0];
  if (IsHalf(own)) sums = ApplyCast(rewrite, sums, DType::kFloat32);
  if (form.exclusive && extent > 0) sums = Shifted(rewrite, sums, form, 1);
  for (int64_t distance = 1; distance < extent && rewrite.status().ok(); distance *= 2) {
    sums = rewrite.Apply(OpKind::kAdd, {sums, Shifted(rewrite, sums, form, distance)});
  }
  if (!rewrite.status().ok()) return rewrite.status();
  ApplyCast(rewrite, sums, own, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& CumSumOp() {
  static const OpDef def{
      .kind = OpKind::kCumSum, .infer_types = CumSumTypes, .expand = ExpandCumSum};
  return def;
}

}  // namespace berth
