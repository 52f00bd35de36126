// Comparisons, logic on bool and on the bits of integers, shifts and remainders.
#include "kernels/ops/elementwise.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/pair_op.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

template <DTypeClass dtype_class>
absl::StatusOr<std::vector<TensorType>> ToBool(const OpCall& call) {
  return PairTypes(call, dtype_class, DType::kBool);
}

template <DTypeClass dtype_class>
absl::StatusOr<std::vector<TensorType>> SameTypes(const OpCall& call) {
  return PairTypes(call, dtype_class);
}

template <BinaryFunction function>
absl::StatusOr<VectorSteps> Plain(const ElementwiseUse&) {
  return VectorSteps{{BinaryStep(function, 0, 1)}};
}

absl::StatusOr<std::vector<TensorType>> BitwiseNotTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kInteger));
  return std::vector<TensorType>{call.input(0)};
}

absl::StatusOr<VectorSteps> BitwiseNotSteps(const ElementwiseUse&) {
  return VectorSteps{{UnaryStep(UnaryFunction::kNot, 0)}};
}

absl::StatusOr<std::vector<TensorType>> BitShiftTypes(const OpCall& call) {
  const std::string direction = call.node->attributes.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return InvalidArgument("attribute direction is '{}', not 'LEFT' or 'RIGHT'", direction);
  }
  return PairTypes(call, DTypeClass::kUnsigned);
}

absl::StatusOr<VectorSteps> BitShiftSteps(const ElementwiseUse& use) {
  const bool left = use.attributes->String("direction", "") == "LEFT";
  return VectorSteps{
      {BinaryStep(left ? BinaryFunction::kShiftLeft : BinaryFunction::kShiftRight, 0, 1)}};
}

// fmod = 0 takes the sign of the divisor and is for integers only.
absl::StatusOr<std::vector<TensorType>> ModTypes(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(std::vector<TensorType> types, PairTypes(call, DTypeClass::kNumeric));
  if (IsFloat(types[0].dtype) && call.node->attributes.Int("fmod", 0) == 0) {
    return InvalidArgument("attribute fmod is 0 with operands of {}", DTypeName(types[0].dtype));
  }
  return types;
}

absl::StatusOr<VectorSteps> ModSteps(const ElementwiseUse& use) {
  const bool sign_of_dividend = use.attributes->Int("fmod", 0) != 0;
  return VectorSteps{{BinaryStep(BinaryFunction::kMod, 0, 1, sign_of_dividend ? 1 : 0)}};
}

}  // namespace

#define BERTH_PAIR_OP(NAME, TYPES, STEPS)                               \
  const OpDef& NAME##Op() {                                             \
    static const OpDef def = PairOp(OpKind::k##NAME, (TYPES), (STEPS)); \
    return def;                                                         \
  }
BERTH_PAIR_OP(Equal, ToBool<DTypeClass::kAny>, Plain<BinaryFunction::kEqual>)
BERTH_PAIR_OP(Less, ToBool<DTypeClass::kNumeric>, Plain<BinaryFunction::kLess>)
BERTH_PAIR_OP(LessOrEqual, ToBool<DTypeClass::kNumeric>, Plain<BinaryFunction::kLessOrEqual>)
BERTH_PAIR_OP(Greater, ToBool<DTypeClass::kNumeric>, Plain<BinaryFunction::kGreater>)
BERTH_PAIR_OP(GreaterOrEqual, ToBool<DTypeClass::kNumeric>, Plain<BinaryFunction::kGreaterOrEqual>)
BERTH_PAIR_OP(And, ToBool<DTypeClass::kBool>, Plain<BinaryFunction::kAnd>)
BERTH_PAIR_OP(Or, ToBool<DTypeClass::kBool>, Plain<BinaryFunction::kOr>)
BERTH_PAIR_OP(Xor, ToBool<DTypeClass::kBool>, Plain<BinaryFunction::kXor>)
BERTH_PAIR_OP(BitwiseAnd, SameTypes<DTypeClass::kInteger>, Plain<BinaryFunction::kAnd>)
BERTH_PAIR_OP(BitwiseOr, SameTypes<DTypeClass::kInteger>, Plain<BinaryFunction::kOr>)
BERTH_PAIR_OP(BitwiseXor, SameTypes<DTypeClass::kInteger>, Plain<BinaryFunction::kXor>)
BERTH_PAIR_OP(BitShift, BitShiftTypes, BitShiftSteps)
BERTH_PAIR_OP(Mod, ModTypes, ModSteps)
#undef BERTH_PAIR_OP

const OpDef& BitwiseNotOp() {
  static const OpDef def = ElementwiseOp(OpKind::kBitwiseNot, BitwiseNotTypes, BitwiseNotSteps);
  return def;
}

}  // namespace berth
