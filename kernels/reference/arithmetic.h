// Elements in the type in which a reference computes: floats in double, integers as they are
// (modulo 2^bits), bool as int.
#pragma once

#include <type_traits>
#include <vector>

#include "base/tensor.h"

namespace berth {

template <typename T>
using ArithmeticOf = std::conditional_t<std::is_same_v<T, bool>, int,
                                        std::conditional_t<std::is_integral_v<T>, T, double>>;

template <typename T>
ArithmeticOf<T> ToArithmetic(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <typename T>
T FromArithmetic(ArithmeticOf<T> value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// For each element of `target`, which element of a tensor of `shape` broadcasts to it.
std::vector<size_t> BroadcastIndices(const Shape& shape, const Shape& target);

}  // namespace berth
