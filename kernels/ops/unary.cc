// Elementwise functions of one operand.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/ops.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

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

// alpha * elu(x / alpha): x itself where it is not negative.
absl::StatusOr<std::vector<TensorType>> CeluTypes(const OpCall& call) {
  if (call.node->attributes.Float("alpha", 1.0f) == 0) return InvalidArgument("alpha is 0");
  return SameType<DTypeClass::kFloat>(call);
}

absl::StatusOr<VectorSteps> CeluSteps(const ElementwiseUse& use) {
  const float alpha = use.attributes->Float("alpha", 1.0f);
  constexpr int kPrevious = VectorStep::kPrevious;
  return VectorSteps{{UnaryStep(UnaryFunction::kAffine, 0, 1 / alpha, 0),
                      UnaryStep(UnaryFunction::kElu, kPrevious, 1),
                      UnaryStep(UnaryFunction::kAffine, kPrevious, alpha, 0)}};
}

// The defaults are the numbers of ONNX Selu.
absl::StatusOr<VectorSteps> SeluSteps(const ElementwiseUse& use) {
  const float alpha = use.attributes->Float("alpha", 1.67326319217681884765625f);
  const float gamma = use.attributes->Float("gamma", 1.05070102214813232421875f);
  return VectorSteps{{UnaryStep(UnaryFunction::kElu, 0, alpha),
                      UnaryStep(UnaryFunction::kAffine, VectorStep::kPrevious, gamma, 0)}};
}

absl::StatusOr<VectorSteps> SoftsignSteps(const ElementwiseUse&) {
  constexpr int kPrevious = VectorStep::kPrevious;
  return VectorSteps{{UnaryStep(UnaryFunction::kAbs, 0),
                      UnaryStep(UnaryFunction::kAffine, kPrevious, 1, 1),
                      BinaryStep(BinaryFunction::kDiv, 0, kPrevious)}};
}

// What is not equal to itself.
absl::StatusOr<std::vector<TensorType>> IsNaNTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  return std::vector<TensorType>{{DType::kBool, call.input(0).shape}};
}

absl::StatusOr<VectorSteps> IsNaNSteps(const ElementwiseUse&) {
  return VectorSteps{{BinaryStep(BinaryFunction::kEqual, 0, 0),
                      UnaryStep(UnaryFunction::kNot, VectorStep::kPrevious)}};
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
BERTH_UNARY_OP(Tan, UnaryFunction::kTan)
BERTH_UNARY_OP(Asin, UnaryFunction::kAsin)
BERTH_UNARY_OP(Acos, UnaryFunction::kAcos)
BERTH_UNARY_OP(Atan, UnaryFunction::kAtan)
BERTH_UNARY_OP(Sinh, UnaryFunction::kSinh)
BERTH_UNARY_OP(Cosh, UnaryFunction::kCosh)
BERTH_UNARY_OP(Asinh, UnaryFunction::kAsinh)
BERTH_UNARY_OP(Acosh, UnaryFunction::kAcosh)
BERTH_UNARY_OP(Atanh, UnaryFunction::kAtanh)
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

const OpDef& CeluOp() {
  static const OpDef def = ElementwiseOp(OpKind::kCelu, CeluTypes, CeluSteps);
  return def;
}

const OpDef& SeluOp() {
  static const OpDef def = ElementwiseOp(OpKind::kSelu, SameType<DTypeClass::kFloat>, SeluSteps);
  return def;
}

const OpDef& SoftsignOp() {
  static const OpDef def =
      ElementwiseOp(OpKind::kSoftsign, SameType<DTypeClass::kFloat>, SoftsignSteps);
  return def;
}

const OpDef& IsNaNOp() {
  static const OpDef def = ElementwiseOp(OpKind::kIsNaN, IsNaNTypes, IsNaNSteps);
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
