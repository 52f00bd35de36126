// Elementwise functions of two operands, and the variadic Max, Min, Sum and Mean.
#include <cmath>
#include <limits>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/legacy_broadcast.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/pair_op.h"
#include "kernels/rewrite.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

absl::StatusOr<std::vector<TensorType>> ArithmeticTypes(const OpCall& call) {
  return PairTypes(call, DTypeClass::kNumeric);
}

absl::StatusOr<std::vector<TensorType>> PowTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  for (int i = 0; i < 2; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kNumeric));
  BERTH_ASSIGN_OR_RETURN(Shape shape, PairShape(call));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::StatusOr<std::vector<TensorType>> PReluTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  for (int i = 0; i < 2; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kSigned));
  BERTH_RETURN_IF_ERROR(CheckSameDType(call));
  BERTH_ASSIGN_OR_RETURN(const Shape shape, PairShape(call));
  if (shape != call.input(0).shape) {
    return InvalidArgument("the slope's shape {} does not broadcast to {}",
                           call.input(1).shape.ToString(), call.input(0).shape.ToString());
  }
  return std::vector<TensorType>{call.input(0)};
}

template <DTypeClass dtype_class>
absl::StatusOr<std::vector<TensorType>> VariadicTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, std::numeric_limits<int>::max()));
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, dtype_class));
  }
  BERTH_RETURN_IF_ERROR(CheckSameDType(call));
  BERTH_ASSIGN_OR_RETURN(Shape shape, BroadcastInputs(call));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

VectorSteps Affine(int operand, float alpha, float beta) {
  return {{UnaryStep(UnaryFunction::kAffine, operand, alpha, beta)}};
}

absl::StatusOr<VectorSteps> AddSteps(const ElementwiseUse& use) {
  if (const auto c = FloatScalar(use, 1)) return Affine(0, 1, *c);
  if (const auto c = FloatScalar(use, 0)) return Affine(1, 1, *c);
  return VectorSteps{{BinaryStep(BinaryFunction::kAdd, 0, 1)}};
}

absl::StatusOr<VectorSteps> SubSteps(const ElementwiseUse& use) {
  if (const auto c = FloatScalar(use, 1)) return Affine(0, 1, -*c);
  if (const auto c = FloatScalar(use, 0)) return Affine(1, -1, *c);
  return VectorSteps{{BinaryStep(BinaryFunction::kSub, 0, 1)}};
}

absl::StatusOr<VectorSteps> MulSteps(const ElementwiseUse& use) {
  if (const auto c = FloatScalar(use, 1)) return Affine(0, *c, 0);
  if (const auto c = FloatScalar(use, 0)) return Affine(1, *c, 0);
  return VectorSteps{{BinaryStep(BinaryFunction::kMul, 0, 1)}};
}

// Only then is x / c the same as x * (1 / c) in every bit.
bool IsPowerOfTwo(float c) {
  int exponent = 0;
  return std::abs(std::frexp(c, &exponent)) == 0.5f && std::abs(exponent) < 100;
}

absl::StatusOr<VectorSteps> DivSteps(const ElementwiseUse& use) {
  if (const auto c = FloatScalar(use, 1); c && IsPowerOfTwo(*c)) return Affine(0, 1 / *c, 0);
  if (const auto c = FloatScalar(use, 0); c && *c == 1) {
    return VectorSteps{{UnaryStep(UnaryFunction::kReciprocal, 1)}};
  }
  return VectorSteps{{BinaryStep(BinaryFunction::kDiv, 0, 1)}};
}

std::optional<UnaryFunction> FixedPower(float exponent) {
  if (exponent == 1.0f) return UnaryFunction::kIdentity;
  if (exponent == 2.0f) return UnaryFunction::kSquare;
  if (exponent == 0.5f) return UnaryFunction::kSqrt;
  if (exponent == -1.0f) return UnaryFunction::kReciprocal;
  return std::nullopt;
}

// The power that a float base is raised to, where it is one known element of any dtype.
std::optional<UnaryFunction> KnownPower(DType base, const Tensor* exponent) {
  if (!IsFloat(base) || exponent == nullptr || exponent->shape().ElementCount() != 1) {
    return std::nullopt;
  }
  const auto values = ToFloatValues(exponent->view());
  return values.ok() ? FixedPower((*values)[0]) : std::nullopt;
}

absl::StatusOr<VectorSteps> PowSteps(const ElementwiseUse& use) {
  if (const auto power = KnownPower(use.dtype(0), use.constants[1])) {
    return VectorSteps{{UnaryStep(*power, 0)}};
  }
  if (use.dtype(0) != use.dtype(1)) {
    return Unimplemented("base {} and exponent {} differ", DTypeName(use.dtype(0)),
                         DTypeName(use.dtype(1)));
  }
  return VectorSteps{{BinaryStep(BinaryFunction::kPow, 0, 1)}};
}

bool PowExpands(const OpCall& call) {
  if (IsLegacyBroadcast(call)) return true;
  return call.input(0).dtype != call.input(1).dtype &&
         !KnownPower(call.input(0).dtype, call.Constant(1));
}

// The common dtype is the base's, except that an integer base with a float exponent is raised as
// a float.
absl::Status ExpandPow(const OpCall& call, GraphRewriter& rewrite) {
  if (IsLegacyBroadcast(call)) return ExpandLegacyBroadcast(call, rewrite);
  const DType base = call.input(0).dtype, exponent = call.input(1).dtype;
  const std::vector<ValueId>& inputs = call.node->inputs;
  const auto cast = [&](ValueId value, DType to, ValueId result = ValueId::kNone) {
    Attributes attributes;
    attributes.Set("to", DTypeToOnnx(to));
    return rewrite.Apply(OpKind::kCast, {value}, std::move(attributes), result);
  };
  if (IsFloat(base) || !IsFloat(exponent)) {
    rewrite.Apply(OpKind::kPow, {inputs[0], cast(inputs[1], base)}, {}, call.node->outputs[0]);
  } else {
    const ValueId power = rewrite.Apply(OpKind::kPow, {cast(inputs[0], exponent), inputs[1]});
    cast(power, base, call.node->outputs[0]);
  }
  return rewrite.status();
}

absl::StatusOr<VectorSteps> PReluSteps(const ElementwiseUse& use) {
  if (const auto slope = FloatScalar(use, 1)) {
    return VectorSteps{{UnaryStep(UnaryFunction::kLeakyRelu, 0, *slope)}};
  }
  return VectorSteps{{BinaryStep(BinaryFunction::kPRelu, 0, 1)}};
}

VectorSteps ChainSteps(BinaryFunction function, int operand_count) {
  if (operand_count == 1) return {{UnaryStep(UnaryFunction::kIdentity, 0)}};
  VectorSteps result;
  for (int i = 1; i < operand_count; ++i) {
    result.steps.push_back(BinaryStep(function, i == 1 ? 0 : VectorStep::kPrevious, i));
  }
  return result;
}

absl::StatusOr<VectorSteps> MaxSteps(const ElementwiseUse& use) {
  if (use.operand_count() == 2) {
    for (int i = 0; i < 2; ++i) {
      if (const auto c = FloatScalar(use, 1 - i)) {
        return VectorSteps{{UnaryStep(UnaryFunction::kClip, i, *c, kInfinity)}};
      }
    }
  }
  return ChainSteps(BinaryFunction::kMax, use.operand_count());
}

absl::StatusOr<VectorSteps> MinSteps(const ElementwiseUse& use) {
  if (use.operand_count() == 2) {
    for (int i = 0; i < 2; ++i) {
      if (const auto c = FloatScalar(use, 1 - i)) {
        return VectorSteps{{UnaryStep(UnaryFunction::kClip, i, -kInfinity, *c)}};
      }
    }
  }
  return ChainSteps(BinaryFunction::kMin, use.operand_count());
}

absl::StatusOr<VectorSteps> SumSteps(const ElementwiseUse& use) {
  return ChainSteps(BinaryFunction::kAdd, use.operand_count());
}

absl::StatusOr<VectorSteps> MeanSteps(const ElementwiseUse& use) {
  VectorSteps result = ChainSteps(BinaryFunction::kAdd, use.operand_count());
  result.steps.push_back(UnaryStep(UnaryFunction::kAffine, VectorStep::kPrevious,
                                   1.0f / static_cast<float>(use.operand_count()), 0));
  return result;
}

}  // namespace

#define BERTH_ELEMENTWISE_OP(NAME, MAKE, TYPES)                         \
  const OpDef& NAME##Op() {                                             \
    static const OpDef def = MAKE(OpKind::k##NAME, TYPES, NAME##Steps); \
    return def;                                                         \
  }
BERTH_ELEMENTWISE_OP(Add, PairOp, ArithmeticTypes)
BERTH_ELEMENTWISE_OP(Sub, PairOp, ArithmeticTypes)
BERTH_ELEMENTWISE_OP(Mul, PairOp, ArithmeticTypes)
BERTH_ELEMENTWISE_OP(Div, PairOp, ArithmeticTypes)
BERTH_ELEMENTWISE_OP(PRelu, PairOp, PReluTypes)
BERTH_ELEMENTWISE_OP(Max, ElementwiseOp, VariadicTypes<DTypeClass::kNumeric>)
BERTH_ELEMENTWISE_OP(Min, ElementwiseOp, VariadicTypes<DTypeClass::kNumeric>)
BERTH_ELEMENTWISE_OP(Sum, ElementwiseOp, VariadicTypes<DTypeClass::kFloat>)
BERTH_ELEMENTWISE_OP(Mean, ElementwiseOp, VariadicTypes<DTypeClass::kFloat>)
#undef BERTH_ELEMENTWISE_OP

const OpDef& PowOp() {
  static const OpDef def = [] {
    OpDef pow = ElementwiseOp(OpKind::kPow, PowTypes, PowSteps);
    pow.expand = ExpandPow;
    pow.expands = PowExpands;
    return pow;
  }();
  return def;
}

}  // namespace berth
