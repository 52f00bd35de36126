// References of the elementwise ops of several operands.
#include <cmath>

#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/pairs.h"
#include "kernels/reference/reference_list.h"

namespace berth {

std::vector<size_t> BroadcastIndices(const Shape& shape, const Shape& target) {
  const std::vector<int64_t> strides = shape.DenseStrides();
  const int missing = target.rank() - shape.rank();
  std::vector<size_t> indices(static_cast<size_t>(target.ElementCount()));
  for (size_t i = 0; i < indices.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t index = 0;
    for (int axis = target.rank(); axis-- > 0;) {
      const int64_t position = rest % target[axis];
      rest /= target[axis];
      if (axis < missing || shape[axis - missing] == 1) continue;
      index += position * strides[static_cast<size_t>(axis - missing)];
    }
    indices[i] = static_cast<size_t>(index);
  }
  return indices;
}

namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

struct Add {
  double operator()(double a, double b) const { return a + b; }
  uint64_t Wrapped(uint64_t a, uint64_t b) const { return a + b; }
};
struct Sub {
  double operator()(double a, double b) const { return a - b; }
  uint64_t Wrapped(uint64_t a, uint64_t b) const { return a - b; }
};
struct Mul {
  double operator()(double a, double b) const { return a * b; }
  uint64_t Wrapped(uint64_t a, uint64_t b) const { return a * b; }
};

// f on integers of any width through 64 bits without a sign.
template <typename F, typename T>
T Arithmetic(const F& f, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f.Wrapped(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == T{0}) return T{0};  // undefined in ONNX
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
    }
  }
  return static_cast<T>(a / b);
}

template <typename T>
T Power(T base, T exponent) {
  if constexpr (!std::is_integral_v<T>) {
    return std::pow(base, exponent);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (exponent < T{0}) {
        return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
      }
    }
    uint64_t result = 1, factor = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest /= 2) {
      if (rest % 2 == 1) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
}

// f over all inputs from the left.
template <typename F>
absl::Status Fold(Inputs inputs, const TensorView& out, F f) {
  const std::vector<size_t> first = BroadcastIndices(inputs[0].type.shape, out.type.shape);
  VisitDType(out.type.dtype, [&]<typename T>() {
    std::vector<ArithmeticOf<T>> values;
    for (const size_t at : first) values.push_back(ToArithmetic(inputs[0].Values<T>()[at]));
    for (const ConstTensorView& input : inputs.subspan(1)) {
      const std::vector<size_t> at = BroadcastIndices(input.type.shape, out.type.shape);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = f(values[i], ToArithmetic(input.Values<T>()[at[i]]));
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      out.Values<T>()[i] = FromArithmetic<T>(values[i]);
    }
  });
  return absl::OkStatus();
}

// Of base and exponent of different dtypes: in double.
void MixedPower(const ConstTensorView& a, const ConstTensorView& b, const Shape& second,
                const TensorView& out) {
  const std::vector<size_t> at_a = BroadcastIndices(a.type.shape, out.type.shape);
  const std::vector<size_t> at_b = BroadcastIndices(second, out.type.shape);
  const std::vector<double> x = ToDoubles(a), y = ToDoubles(b);
  std::vector<double> result(at_a.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = std::pow(x[at_a[i]], y[at_b[i]]);
  FromDoubles(result, out);
}

bool IsNan(double value) { return std::isnan(value); }
template <typename T>
requires std::is_integral_v<T>
bool IsNan(T) { return false; }

}  // namespace

absl::Status AddReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Pair(call, inputs, outputs, [](auto a, auto b) { return Arithmetic(Add{}, a, b); });
}

absl::Status SubReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Pair(call, inputs, outputs, [](auto a, auto b) { return Arithmetic(Sub{}, a, b); });
}

absl::Status MulReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Pair(call, inputs, outputs, [](auto a, auto b) { return Arithmetic(Mul{}, a, b); });
}

absl::Status DivReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Pair(call, inputs, outputs, [](auto a, auto b) { return Quotient(a, b); });
}

absl::Status PowReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  if (inputs[0].type.dtype != inputs[1].type.dtype) {
    BERTH_ASSIGN_OR_RETURN(const Shape second, LegacyOperandShape(call));
    MixedPower(inputs[0], inputs[1], second, outputs[0]);
    return absl::OkStatus();
  }
  return Pair(call, inputs, outputs, [](auto a, auto b) { return Power(a, b); });
}

absl::Status PReluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Pair(call, inputs, outputs,
              [](auto x, auto slope) { return x < 0 ? Arithmetic(Mul{}, x, slope) : x; });
}

absl::Status MaxReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Fold(inputs, outputs[0], [](auto a, auto b) { return a > b || IsNan(a) ? a : b; });
}

absl::Status MinReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Fold(inputs, outputs[0], [](auto a, auto b) { return a < b || IsNan(a) ? a : b; });
}

absl::Status SumReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Fold(inputs, outputs[0], [](auto a, auto b) { return Arithmetic(Add{}, a, b); });
}

absl::Status MeanReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_RETURN_IF_ERROR(SumReference(call, inputs, outputs));
  std::vector<double> values = ToDoubles(outputs[0]);
  for (double& value : values) value /= static_cast<double>(inputs.size());
  FromDoubles(values, outputs[0]);
  return absl::OkStatus();
}

absl::Status WhereReference(const OpCall&, Inputs inputs, Outputs outputs) {
  const TensorView& out = outputs[0];
  const auto indices = [&](int i) {
    return BroadcastIndices(inputs[static_cast<size_t>(i)].type.shape, out.type.shape);
  };
  const std::vector<size_t> at_condition = indices(0), at_a = indices(1), at_b = indices(2);
  const auto condition = inputs[0].Values<bool>();
  VisitDType(out.type.dtype, [&]<typename T>() {
    for (size_t i = 0; i < at_a.size(); ++i) {
      out.Values<T>()[i] = condition[at_condition[i]] ? inputs[1].Values<T>()[at_a[i]]
                                                      : inputs[2].Values<T>()[at_b[i]];
    }
  });
  return absl::OkStatus();
}

}  // namespace berth
