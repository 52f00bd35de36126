// ReduceL2, ReduceLogSum and ReduceLogSumExp, from the reductions that the vector unit has.
#include <limits>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/reduce_axes.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

// Roots and logarithms are of reals: integers are computed in float64, 16-bit floats in float32.
DType ComputedIn(DType dtype) {
  if (!IsFloat(dtype)) return DType::kFloat64;
  return IsHalf(dtype) ? DType::kFloat32 : dtype;
}

class Composite {
 public:
  Composite(const OpCall& call, GraphRewriter& rewrite)
      : call_(call),
        rewrite_(rewrite),
        own_(call.input(0).dtype),
        axes_(KnownReducedAxes(call)),
        x_(ApplyCast(rewrite, call.node->inputs[0], ComputedIn(own_))) {}

  ValueId x() const { return x_; }
  ValueId Reduce(OpKind kind, ValueId value) { return Reduce(kind, value, axes_.keep_dims); }
  ValueId Reduce(OpKind kind, ValueId value, bool keep_dims) {
    std::vector<int64_t> axes;
    for (size_t axis = 0; axis < axes_.reduced.size(); ++axis) {
      if (axes_.reduced[axis]) axes.push_back(static_cast<int64_t>(axis));
    }
    Attributes attributes;
    attributes.Set("axes", std::move(axes));
    attributes.Set("keepdims", int64_t{keep_dims});
    attributes.Set("noop_with_empty_axes", int64_t{1});
    return rewrite_.Apply(kind, {value}, std::move(attributes));
  }
  absl::Status Finish(ValueId value) {
    if (!rewrite_.status().ok()) return rewrite_.status();
    ApplyCast(rewrite_, value, own_, call_.node->outputs[0]);
    return rewrite_.status();
  }
  const Shape& result_shape() const { return call_.output().shape; }
  ValueId Scalar(double value) { return rewrite_.Constant(ScalarTensor(ComputedIn(own_), value)); }

 private:
  const OpCall& call_;
  GraphRewriter& rewrite_;
  const DType own_;
  const ReducedAxes axes_;
  const ValueId x_;
};

absl::Status ExpandReduceL2(const OpCall& call, GraphRewriter& rewrite) {
  Composite op(call, rewrite);
  const ValueId sum = op.Reduce(OpKind::kReduceSumSquare, op.x());
  return op.Finish(rewrite.Apply(OpKind::kSqrt, {sum}));
}

absl::Status ExpandReduceLogSum(const OpCall& call, GraphRewriter& rewrite) {
  Composite op(call, rewrite);
  return op.Finish(rewrite.Apply(OpKind::kLog, {op.Reduce(OpKind::kReduceSum, op.x())}));
}

// log(sum(exp(x - m))) + m with the largest element m, which may be infinite: then with the largest
// finite number of that sign, which gives the infinity that is right.
absl::Status ExpandReduceLogSumExp(const OpCall& call, GraphRewriter& rewrite) {
  Composite op(call, rewrite);
  constexpr double kLargest = std::numeric_limits<float>::max();
  ValueId largest = op.Reduce(OpKind::kReduceMax, op.x(), true);
  largest = rewrite.Apply(OpKind::kClip, {largest, op.Scalar(-kLargest), op.Scalar(kLargest)});
  const ValueId shifted = rewrite.Apply(OpKind::kSub, {op.x(), largest});
  const ValueId powers = rewrite.Apply(OpKind::kExp, {shifted});
  const ValueId log = rewrite.Apply(OpKind::kLog, {op.Reduce(OpKind::kReduceSum, powers)});
  if (!rewrite.status().ok()) return rewrite.status();
  const ValueId offset = ApplyReshape(rewrite, largest, op.result_shape());
  return op.Finish(rewrite.Apply(OpKind::kAdd, {log, offset}));
}

}  // namespace

#define BERTH_COMPOSITE_OP(NAME)                                                         \
  const OpDef& NAME##Op() {                                                              \
    static const OpDef def{                                                              \
        .kind = OpKind::k##NAME, .infer_types = ReductionTypes, .expand = Expand##NAME}; \
    return def;                                                                          \
  }
BERTH_COMPOSITE_OP(ReduceL2)
BERTH_COMPOSITE_OP(ReduceLogSum)
BERTH_COMPOSITE_OP(ReduceLogSumExp)
#undef BERTH_COMPOSITE_OP

}  // namespace berth
