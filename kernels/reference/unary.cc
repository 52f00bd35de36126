// References of the elementwise ops of one operand, of Clip and of Cast.
#include <cmath>
#include <limits>

#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

template <typename F>
absl::Status MapReals(Inputs inputs, Outputs outputs, F f) {
  std::vector<double> values = ToDoubles(inputs[0]);
  for (double& value : values) value = f(value);
  FromDoubles(values, outputs[0]);
  return absl::OkStatus();
}

// f on the dtype's own arithmetic.
template <typename F>
absl::Status MapAny(Inputs inputs, Outputs outputs, F f) {
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    const auto in = inputs[0].Values<T>();
    const auto out = outputs[0].Values<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = FromArithmetic<T>(static_cast<ArithmeticOf<T>>(f(ToArithmetic(in[i]))));
    }
  });
  return absl::OkStatus();
}

template <typename T>
T Negated(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  } else {
    return -x;
  }
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Truncated, saturated to 64 bits, then narrowed; NaN is 0.
int64_t ToInteger(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

template <typename From, typename To>
To Converted(From value) {
  const auto number = ToArithmetic(value);
  if constexpr (std::is_same_v<To, bool>) {
    return number != 0;
  } else if constexpr (!std::is_integral_v<To>) {
    return FromArithmetic<To>(static_cast<double>(number));
  } else if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(number);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr double kLimit = 18446744073709551616.0;  // 2^64
    if (number >= kLimit) return std::numeric_limits<uint64_t>::max();
    return number >= 0 ? static_cast<uint64_t>(number) : static_cast<uint64_t>(ToInteger(number));
  } else {
    return static_cast<To>(ToInteger(number));
  }
}

}  // namespace

#define BERTH_REAL_REFERENCE(NAME, EXPRESSION)                                       \
  absl::Status NAME##Reference(const OpCall&, Inputs inputs, Outputs outputs) {      \
    return MapReals(inputs, outputs, [](double x) -> double { return EXPRESSION; }); \
  }
BERTH_REAL_REFERENCE(Sigmoid, Sigmoid(x))
BERTH_REAL_REFERENCE(HardSwish, x* std::fmax(0, std::fmin(1, x / 6 + 0.5)))
BERTH_REAL_REFERENCE(Tanh, std::tanh(x))
BERTH_REAL_REFERENCE(Exp, std::exp(x))
BERTH_REAL_REFERENCE(Log, std::log(x))
BERTH_REAL_REFERENCE(Sqrt, std::sqrt(x))
BERTH_REAL_REFERENCE(Erf, std::erf(x))
BERTH_REAL_REFERENCE(Reciprocal, 1 / x)
BERTH_REAL_REFERENCE(Floor, std::floor(x))
BERTH_REAL_REFERENCE(Ceil, std::ceil(x))
BERTH_REAL_REFERENCE(Round, std::nearbyint(x))
BERTH_REAL_REFERENCE(Sin, std::sin(x))
BERTH_REAL_REFERENCE(Cos, std::cos(x))
BERTH_REAL_REFERENCE(Tan, std::tan(x))
BERTH_REAL_REFERENCE(Asin, std::asin(x))
BERTH_REAL_REFERENCE(Acos, std::acos(x))
BERTH_REAL_REFERENCE(Atan, std::atan(x))
BERTH_REAL_REFERENCE(Sinh, std::sinh(x))
BERTH_REAL_REFERENCE(Cosh, std::cosh(x))
BERTH_REAL_REFERENCE(Asinh, std::asinh(x))
BERTH_REAL_REFERENCE(Acosh, std::acosh(x))
BERTH_REAL_REFERENCE(Atanh, std::atanh(x))
BERTH_REAL_REFERENCE(Softsign, x / (1 + std::abs(x)))
BERTH_REAL_REFERENCE(Mish, x* std::tanh(std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x)))))
BERTH_REAL_REFERENCE(IsNaN, std::isnan(x) ? 1 : 0)
BERTH_REAL_REFERENCE(Softplus, std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))))
#undef BERTH_REAL_REFERENCE

absl::Status ReluReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return MapAny(inputs, outputs, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

absl::Status SignReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return MapAny(inputs, outputs, [](auto x) {
    using Number = decltype(x);
    return x > 0 ? Number{1} : x < 0 ? static_cast<Number>(-1) : x;
  });
}

absl::Status NegReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return MapAny(inputs, outputs, [](auto x) { return Negated(x); });
}

absl::Status AbsReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return MapAny(inputs, outputs, [](auto x) { return x < 0 ? Negated(x) : x; });
}

absl::Status NotReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return MapReals(inputs, outputs, [](double x) { return x == 0 ? 1.0 : 0.0; });
}

absl::Status LeakyReluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 0.01f);
  return MapReals(inputs, outputs, [&](double x) { return x < 0 ? alpha * x : x; });
}

absl::Status EluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 1.0f);
  return MapReals(inputs, outputs, [&](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

absl::Status CeluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 1.0f);
  return MapReals(inputs, outputs, [&](double x) {
    return std::fmax(0, x) + std::fmin(0, alpha * std::expm1(x / alpha));
  });
}

absl::Status SeluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 1.6732632423543772f);
  const double gamma = call.node->attributes.Float("gamma", 1.0507009873554805f);
  return MapReals(inputs, outputs,
                  [&](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

absl::Status ThresholdedReluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 1.0f);
  return MapReals(inputs, outputs, [&](double x) { return x > alpha ? x : 0; });
}

absl::Status ShrinkReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double limit = call.node->attributes.Float("lambd", 0.5f);
  const double bias = call.node->attributes.Float("bias", 0);
  return MapReals(inputs, outputs, [&](double x) {
    return x < -limit ? x + bias : x > limit ? x - bias : 0;
  });
}

absl::Status IsInfReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const bool negative = call.node->attributes.Int("detect_negative", 1) != 0;
  const bool positive = call.node->attributes.Int("detect_positive", 1) != 0;
  return MapReals(inputs, outputs, [&](double x) -> double {
    return std::isinf(x) && (x < 0 ? negative : positive) ? 1 : 0;
  });
}

absl::Status HardSigmoidReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const double alpha = call.node->attributes.Float("alpha", 0.2f);
  const double beta = call.node->attributes.Float("beta", 0.5f);
  return MapReals(inputs, outputs,
                  [&](double x) { return std::fmax(0, std::fmin(1, alpha * x + beta)); });
}

absl::Status GeluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  if (call.node->attributes.String("approximate", "none") == "tanh") {
    const double scale = std::sqrt(2 / M_PI);
    return MapReals(inputs, outputs, [&](double x) {
      return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
    });
  }
  return MapReals(inputs, outputs,
                  [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
}

absl::Status ClipReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Attributes& attributes = call.node->attributes;
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    using Number = ArithmeticOf<T>;
    const auto bound = [&](int i, const char* attribute) -> std::optional<Number> {
      if (call.HasInput(i)) return ToArithmetic(inputs[static_cast<size_t>(i)].Values<T>()[0]);
      if (!attributes.Has(attribute)) return std::nullopt;
      return static_cast<Number>(attributes.Float(attribute, 0));
    };
    const auto low = bound(1, "min"), high = bound(2, "max");
    const auto in = inputs[0].Values<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      Number x = ToArithmetic(in[i]);
      if (low && x < *low) x = *low;
      if (high && x > *high) x = *high;
      outputs[0].Values<T>()[i] = FromArithmetic<T>(x);
    }
  });
  return absl::OkStatus();
}

absl::Status CastLikeReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return CastReference(call, inputs, outputs);
}

absl::Status CastReference(const OpCall&, Inputs inputs, Outputs outputs) {
  VisitDType(inputs[0].type.dtype, [&]<typename From>() {
    VisitDType(outputs[0].type.dtype, [&]<typename To>() {
      const auto in = inputs[0].Values<From>();
      const auto out = outputs[0].Values<To>();
      for (size_t i = 0; i < in.size(); ++i) out[i] = Converted<From, To>(in[i]);
    });
  });
  return absl::OkStatus();
}

}  // namespace berth
