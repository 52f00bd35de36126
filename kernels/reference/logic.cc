// References of comparisons, logic, shifts and remainders.
#include <cmath>

#include "kernels/reference/pairs.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// Operands that are integers of the model (bool counts as 0 and 1); reals never come here.
template <typename F>
absl::Status PairOfIntegers(const OpCall& call, Inputs inputs, Outputs outputs, F f) {
  return Pair(call, inputs, outputs, [&f]<typename T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    } else {
      return T{};
    }
  });
}

template <typename T>
T Remainder(T a, T b, bool sign_of_dividend) {
  if constexpr (!std::is_integral_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T{0}) return a;  // undefined in ONNX
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return T{0};
    }
    const auto rest = static_cast<T>(a % b);
    const bool adjusts = !sign_of_dividend && rest != T{0} && (rest < T{0}) != (b < T{0});
    return adjusts ? static_cast<T>(rest + b) : rest;
  }
}

}  // namespace

#define BERTH_COMPARISON_REFERENCE(NAME, OPERATOR)                                   \
  absl::Status NAME##Reference(const OpCall& call, Inputs inputs, Outputs outputs) { \
    return Pair(call, inputs, outputs, [](auto a, auto b) { return a OPERATOR b; }); \
  }
BERTH_COMPARISON_REFERENCE(Equal, ==)
BERTH_COMPARISON_REFERENCE(Less, <)
BERTH_COMPARISON_REFERENCE(LessOrEqual, <=)
BERTH_COMPARISON_REFERENCE(Greater, >)
BERTH_COMPARISON_REFERENCE(GreaterOrEqual, >=)
#undef BERTH_COMPARISON_REFERENCE

#define BERTH_BITWISE_REFERENCE(NAME, OPERATOR)                                      \
  absl::Status NAME##Reference(const OpCall& call, Inputs inputs, Outputs outputs) { \
    return PairOfIntegers(call, inputs, outputs,                                     \
                          [](uint64_t a, uint64_t b) { return a OPERATOR b; });      \
  }
BERTH_BITWISE_REFERENCE(And, &)
BERTH_BITWISE_REFERENCE(Or, |)
BERTH_BITWISE_REFERENCE(Xor, ^)
BERTH_BITWISE_REFERENCE(BitwiseAnd, &)
BERTH_BITWISE_REFERENCE(BitwiseOr, |)
BERTH_BITWISE_REFERENCE(BitwiseXor, ^)
#undef BERTH_BITWISE_REFERENCE

absl::Status BitwiseNotReference(const OpCall&, Inputs inputs, Outputs outputs) {
  for (int64_t i = 0; i < inputs[0].type.ByteCount(); ++i) outputs[0].data[i] = ~inputs[0].data[i];
  return absl::OkStatus();
}

absl::Status BitShiftReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const bool left = call.node->attributes.String("direction", "") == "LEFT";
  return PairOfIntegers(call, inputs, outputs, [left](uint64_t a, uint64_t b) -> uint64_t {
    if (b >= 64) return 0;
    return left ? a << b : a >> b;
  });
}

absl::Status ModReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const bool sign_of_dividend = call.node->attributes.Int("fmod", 0) != 0;
  return Pair(call, inputs, outputs,
              [=](auto a, auto b) { return Remainder(a, b, sign_of_dividend); });
}

}  // namespace berth
