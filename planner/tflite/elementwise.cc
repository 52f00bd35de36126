// Element by element.
#include "kernels/onnx_dtype.h"
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

absl::StatusOr<ValueId> Combine(TfliteOpImport& op, OpKind kind) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId a, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId b, op.Real(1));
  return op.Apply(kind, {a, b});
}

// Files may leave the table of options out: then nothing is fused.
template <typename Options>
absl::Status CombineFused(TfliteOpImport& op, OpKind kind) {
  BERTH_ASSIGN_OR_RETURN(const ValueId result, Combine(op, kind));
  const Options* options = op.op().builtin_options_as<Options>();
  return op.SetReal(0, result,
                    options == nullptr ? tfl::Activation::NONE : options->fused_activation());
}

absl::Status CombinePlain(TfliteOpImport& op, OpKind kind) {
  BERTH_ASSIGN_OR_RETURN(const ValueId result, Combine(op, kind));
  return op.SetReal(0, result);
}

absl::Status Unary(TfliteOpImport& op, OpKind kind, Attributes attributes = {}) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(kind, {x}, std::move(attributes)));
  return op.SetReal(0, result);
}

absl::Status Activate(TfliteOpImport& op, tfl::Activation activation) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  return op.SetReal(0, x, activation);
}

Attributes Alpha(float alpha) {
  Attributes attributes;
  attributes.Set("alpha", alpha);
  return attributes;
}

}  // namespace

absl::Status Add(TfliteOpImport& op) { return CombineFused<tfl::AddOptions>(op, OpKind::kAdd); }
absl::Status Sub(TfliteOpImport& op) { return CombineFused<tfl::SubOptions>(op, OpKind::kSub); }
absl::Status Mul(TfliteOpImport& op) { return CombineFused<tfl::MulOptions>(op, OpKind::kMul); }
absl::Status Div(TfliteOpImport& op) { return CombineFused<tfl::DivOptions>(op, OpKind::kDiv); }
absl::Status Pow(TfliteOpImport& op) { return CombinePlain(op, OpKind::kPow); }
absl::Status Maximum(TfliteOpImport& op) { return CombinePlain(op, OpKind::kMax); }
absl::Status Minimum(TfliteOpImport& op) { return CombinePlain(op, OpKind::kMin); }

absl::Status AddN(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1 << 16));
  std::vector<ValueId> operands;
  for (int i = 0; i < op.input_count(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const ValueId operand, op.Real(i));
    operands.push_back(operand);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId sum, op.Apply(OpKind::kSum, std::move(operands)));
  return op.SetReal(0, sum);
}

absl::Status SquaredDifference(TfliteOpImport& op) {
  BERTH_ASSIGN_OR_RETURN(const ValueId difference, Combine(op, OpKind::kSub));
  BERTH_ASSIGN_OR_RETURN(const ValueId square, op.Apply(OpKind::kMul, {difference, difference}));
  return op.SetReal(0, square);
}

absl::Status Relu(TfliteOpImport& op) { return Activate(op, tfl::Activation::RELU); }
absl::Status Relu6(TfliteOpImport& op) { return Activate(op, tfl::Activation::RELU6); }
absl::Status ReluN1To1(TfliteOpImport& op) { return Activate(op, tfl::Activation::RELU_N1_TO_1); }
absl::Status Relu0To1(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId result,
                         op.Apply(OpKind::kClip, {x, op.Scalar(0), op.Scalar(1)}));
  return op.SetReal(0, result);
}
absl::Status Logistic(TfliteOpImport& op) { return Unary(op, OpKind::kSigmoid); }
absl::Status Tanh(TfliteOpImport& op) { return Unary(op, OpKind::kTanh); }
absl::Status HardSwish(TfliteOpImport& op) { return Unary(op, OpKind::kHardSwish); }
absl::Status Exp(TfliteOpImport& op) { return Unary(op, OpKind::kExp); }
absl::Status Log(TfliteOpImport& op) { return Unary(op, OpKind::kLog); }
absl::Status Sqrt(TfliteOpImport& op) { return Unary(op, OpKind::kSqrt); }
absl::Status Abs(TfliteOpImport& op) { return Unary(op, OpKind::kAbs); }
absl::Status Neg(TfliteOpImport& op) { return Unary(op, OpKind::kNeg); }
absl::Status Elu(TfliteOpImport& op) { return Unary(op, OpKind::kElu, Alpha(1)); }

absl::Status Rsqrt(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId root, op.Apply(OpKind::kSqrt, {x}));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kDiv, {op.Scalar(1), root}));
  return op.SetReal(0, result);
}

absl::Status Square(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kMul, {x, x}));
  return op.SetReal(0, result);
}

absl::Status LeakyRelu(TfliteOpImport& op) {
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::LeakyReluOptions>());
  return Unary(op, OpKind::kLeakyRelu, Alpha(options->alpha()));
}

absl::Status PRelu(TfliteOpImport& op) { return CombinePlain(op, OpKind::kPRelu); }

absl::Status Gelu(TfliteOpImport& op) {
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::GeluOptions>());
  Attributes attributes;
  attributes.Set("approximate", std::string(options->approximate() ? "tanh" : "none"));
  return Unary(op, OpKind::kGelu, std::move(attributes));
}

absl::Status Convert(TfliteOpImport& op) { return Activate(op, tfl::Activation::NONE); }

absl::Status Cast(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const TensorType declared, op.DeclaredOutput());
  if (op.TypeOf(x).dtype == declared.dtype) return op.SetStored(0, x);
  Attributes attributes;
  attributes.Set("to", DTypeToOnnx(declared.dtype));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kCast, {x}, std::move(attributes)));
  return op.SetStored(0, result);
}

}  // namespace berth::tfl_ops
