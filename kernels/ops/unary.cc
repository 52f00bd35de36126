// Elementwise functions of one operand.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/ops.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

template <DTypeClass dtype_class>
absl::StatusOr<std::vector<TensorType>> SameType(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, dtype_class));
  return std::vector<TensorType>{call.input(0)};
}

template <UnaryFunction function>
absl::StatusOr<VectorSteps> Plain(const ElementwiseUse&) {
  return VectorSteps{{UnaryStep(function, 0)}};
}

template <UnaryFunction function, DTypeClass dtype_class = DTypeClass::kFloat>
OpDef PlainOp(OpKind kind) {
  return ElementwiseOp(kind, SameType<dtype_class>, Plain<function>);
}

absl::StatusOr<VectorSteps> LeakyReluSteps(const ElementwiseUse& use) {
  return VectorSteps{
      {UnaryStep(UnaryFunction::kLeakyRelu, 0, use.attributes->Float("alpha", 0.01f))}};
}

absl::StatusOr<VectorSteps> EluSteps(const ElementwiseUse& use) {
  return VectorSteps{{UnaryStep(UnaryFunction::kElu, 0, use.attributes->Float("alpha", 1.0f))}};
}

absl::StatusOr<VectorSteps> HardSigmoidSteps(const ElementwiseUse& use) {
  return VectorSteps{
      {UnaryStep(UnaryFunction::kHardSigmoid, 0, use.attributes->Float("alpha", 0.2f),
                 use.attributes->Float("beta", 0.5f))}};
}

absl::StatusOr<std::vector<TensorType>> GeluTypes(const OpCall& call) {
  const std::string approximate = call.node->attributes.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return InvalidArgument("attribute approximate is '{}', not 'none' or 'tanh'", approximate);
  }
  return SameType<DTypeClass::kFloat>(call);
}

absl::StatusOr<VectorSteps> GeluSteps(const ElementwiseUse& use) {
  const bool is_tanh = use.attributes->String("approximate", "none") == "tanh";
  return VectorSteps{{UnaryStep(is_tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu, 0)}};
}

}  // namespace

#define BERTH_UNARY_OP(NAME, ...)                                   \
  const OpDef& NAME##Op() {                                         \
    static const OpDef def = PlainOp<__VA_ARGS__>(OpKind::k##NAME); \
    return def;                                                     \
  }
BERTH_UNARY_OP(Relu, UnaryFunction::kRelu, DTypeClass::kNumeric)
BERTH_UNARY_OP(Sigmoid, UnaryFunction::kSigmoid)
BERTH_UNARY_OP(HardSwish, UnaryFunction::kHardSwish)
BERTH_UNARY_OP(Tanh, UnaryFunction::kTanh)
BERTH_UNARY_OP(Exp, UnaryFunction::kExp)
BERTH_UNARY_OP(Log, UnaryFunction::kLog)
BERTH_UNARY_OP(Sqrt, UnaryFunction::kSqrt)
BERTH_UNARY_OP(Neg, UnaryFunction::kNeg, DTypeClass::kSigned)
BERTH_UNARY_OP(Abs, UnaryFunction::kAbs, DTypeClass::kNumeric)
BERTH_UNARY_OP(Erf, UnaryFunction::kErf)
BERTH_UNARY_OP(Softplus, UnaryFunction::kSoftplus)
BERTH_UNARY_OP(Reciprocal, UnaryFunction::kReciprocal)
BERTH_UNARY_OP(Floor, UnaryFunction::kFloor)
BERTH_UNARY_OP(Ceil, UnaryFunction::kCeil)
BERTH_UNARY_OP(Round, UnaryFunction::kRound)
BERTH_UNARY_OP(Sign, UnaryFunction::kSign, DTypeClass::kNumeric)
BERTH_UNARY_OP(Sin, UnaryFunction::kSin)
BERTH_UNARY_OP(Cos, UnaryFunction::kCos)
BERTH_UNARY_OP(Not, UnaryFunction::kNot, DTypeClass::kBool)
#undef BERTH_UNARY_OP

const OpDef& LeakyReluOp() {
  static const OpDef def =
      ElementwiseOp(OpKind::kLeakyRelu, SameType<DTypeClass::kFloat>, LeakyReluSteps);
  return def;
}

const OpDef& EluOp() {
  static const OpDef def = ElementwiseOp(OpKind::kElu, SameType<DTypeClass::kFloat>, EluSteps);
  return def;
}

const OpDef& HardSigmoidOp() {
  static const OpDef def =
      ElementwiseOp(OpKind::kHardSigmoid, SameType<DTypeClass::kFloat>, HardSigmoidSteps);
  return def;
}

const OpDef& GeluOp() {
  static const OpDef def = ElementwiseOp(OpKind::kGelu, GeluTypes, GeluSteps);
  return def;
}

}  // namespace berth
