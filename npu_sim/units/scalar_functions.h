// Element-wise functions on the dtypes without a vector kernel: float64 and integers.
//
// Integers wrap modulo 2^bits; division truncates, x / 0 is 0 and x mod 0 is x; functions of reals
// are computed in double and truncated (saturating). kMod takes the sign of the divisor for
// integers (Python), of the dividend when VectorParams::alpha is not 0 (C) and always for floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "npu_sim/command.h"

namespace berth {

// Truncation that saturates; NaN becomes 0.
template <typename T>
T SaturatingCast(double value) {
  if (std::isnan(value)) return T{0};
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

// Sine to hyperbolic area tangent.
bool IsTrigonometric(UnaryFunction function);

double UnaryOfReal(UnaryFunction function, double alpha, double beta, double x);

template <typename T>
T NegateInteger(T x) {
  return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
}

template <typename T>
T UnaryOfInteger(UnaryFunction function, double alpha, double beta, T x) {
  switch (function) {
    case UnaryFunction::kIdentity:
    case UnaryFunction::kFloor:
    case UnaryFunction::kCeil:
    case UnaryFunction::kRound:
      return x;
    case UnaryFunction::kRelu:
      return x < T{0} ? T{0} : x;
    case UnaryFunction::kNeg:
      return NegateInteger(x);
    case UnaryFunction::kAbs:
      return x < T{0} ? NegateInteger(x) : x;
    case UnaryFunction::kSign:
      return static_cast<T>((x > T{0}) - (x < T{0}));
    case UnaryFunction::kNot:
      return static_cast<T>(~x);
    case UnaryFunction::kSquare:
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    case UnaryFunction::kClip: {
      const T low = SaturatingCast<T>(alpha), high = SaturatingCast<T>(beta);
      const T raised = x < low ? low : x;
      return raised > high ? high : raised;
    }
    default:
      return SaturatingCast<T>(UnaryOfReal(function, alpha, beta, static_cast<double>(x)));
  }
}

template <typename T>
T DivideIntegers(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return NegateInteger(a);
  }
  return static_cast<T>(a / b);
}

template <typename T>
T RemainderOfIntegers(T a, T b, bool sign_of_dividend) {
  if (b == T{0}) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return T{0};
  }
  const T remainder = static_cast<T>(a % b);
  const bool fix = !sign_of_dividend && remainder != T{0} && ((remainder < T{0}) != (b < T{0}));
  return fix ? static_cast<T>(remainder + b) : remainder;
}

// Of the bits, whatever the sign; by a count outside [0, bits) everything is lost.
template <typename T>
T ShiftInteger(T value, T count, bool left) {
  using Bits = std::make_unsigned_t<T>;
  constexpr auto kBits = static_cast<T>(8 * sizeof(T));
  if (count < T{0} || count >= kBits) return T{0};
  const auto bits = static_cast<Bits>(value);
  const uint64_t shifted = left ? uint64_t{bits} << count : uint64_t{bits} >> count;
  return static_cast<T>(static_cast<Bits>(shifted));
}

template <typename T>
T PowerOfIntegers(T base, T exponent) {
  if (exponent < T{0}) {
    return SaturatingCast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left > 0; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

}  // namespace berth
