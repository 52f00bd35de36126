// Activations and tests of values that are choices between simple functions: Mish, ThresholdedRelu,
// Shrink and IsInf.
//
// Formulas: ONNX operators of these names.
#include <limits>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

// A constant of the dtype of the node's input.
ValueId Scalar(const OpCall& call, GraphRewriter& rewrite, double value) {
  return rewrite.Constant(ScalarTensor(call.input(0).dtype, value));
}

// x * tanh(softplus(x))
absl::Status ExpandMish(const OpCall& call, GraphRewriter& rewrite) {
  const ValueId x = call.node->inputs[0];
  const ValueId gate = rewrite.Apply(OpKind::kTanh, {rewrite.Apply(OpKind::kSoftplus, {x})});
  rewrite.Apply(OpKind::kMul, {x, gate}, {}, call.node->outputs[0]);
  return rewrite.status();
}

// x above alpha, 0 elsewhere.
absl::Status ExpandThresholdedRelu(const OpCall& call, GraphRewriter& rewrite) {
  const ValueId x = call.node->inputs[0];
  const ValueId alpha = Scalar(call, rewrite, call.node->attributes.Float("alpha", 1.0f));
  const ValueId above = rewrite.Apply(OpKind::kGreater, {x, alpha});
  rewrite.Apply(OpKind::kWhere, {above, x, Scalar(call, rewrite, 0)}, {}, call.node->outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> ShrinkTypes(const OpCall& call) {
  if (!call.HasInput(0) || IsFloat(call.input(0).dtype)) {
    return SameType<DTypeClass::kFloat>(call);
  }
  return Unimplemented("input 0 is {}, only float dtypes are supported",
                       DTypeName(call.input(0).dtype));
}

// x + bias below -lambd, x - bias above lambd, 0 in between.
absl::Status ExpandShrink(const OpCall& call, GraphRewriter& rewrite) {
  const ValueId x = call.node->inputs[0];
  const float limit = call.node->attributes.Float("lambd", 0.5f);
  const ValueId bias = Scalar(call, rewrite, call.node->attributes.Float("bias", 0));
  const ValueId is_low = rewrite.Apply(OpKind::kLess, {x, Scalar(call, rewrite, -limit)});
  const ValueId is_high = rewrite.Apply(OpKind::kGreater, {x, Scalar(call, rewrite, limit)});
  const ValueId lowered = rewrite.Apply(OpKind::kSub, {x, bias});
  const ValueId raised = rewrite.Apply(OpKind::kAdd, {x, bias});
  const ValueId high = rewrite.Apply(OpKind::kWhere, {is_high, lowered, Scalar(call, rewrite, 0)});
  rewrite.Apply(OpKind::kWhere, {is_low, raised, high}, {}, call.node->outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> IsInfTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(SameType<DTypeClass::kFloat>(call).status());
  return std::vector<TensorType>{{DType::kBool, call.input(0).shape}};
}

absl::Status ExpandIsInf(const OpCall& call, GraphRewriter& rewrite) {
  const ValueId x = call.node->inputs[0], result = call.node->outputs[0];
  const bool negative = call.node->attributes.Int("detect_negative", 1) != 0;
  const bool positive = call.node->attributes.Int("detect_positive", 1) != 0;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto equals = [&](ValueId value, double number) {
    rewrite.Apply(OpKind::kEqual, {value, Scalar(call, rewrite, number)}, {}, result);
  };
  if (negative && positive) {
    equals(rewrite.Apply(OpKind::kAbs, {x}), infinity);
  } else if (negative || positive) {
    equals(x, negative ? -infinity : infinity);
  } else {  // nothing is more than infinite
    rewrite.Apply(OpKind::kGreater,
                  {rewrite.Apply(OpKind::kAbs, {x}), Scalar(call, rewrite, infinity)}, {}, result);
  }
  return rewrite.status();
}

}  // namespace

#define BERTH_EXPANDED_OP(NAME, TYPES)                                                             \
  const OpDef& NAME##Op() {                                                                        \
    static const OpDef def{.kind = OpKind::k##NAME, .infer_types = TYPES, .expand = Expand##NAME}; \
    return def;                                                                                    \
  }
BERTH_EXPANDED_OP(Mish, SameType<DTypeClass::kFloat>)
BERTH_EXPANDED_OP(ThresholdedRelu, SameType<DTypeClass::kFloat>)
BERTH_EXPANDED_OP(Shrink, ShrinkTypes)
BERTH_EXPANDED_OP(IsInf, IsInfTypes)
#undef BERTH_EXPANDED_OP

}  // namespace berth
