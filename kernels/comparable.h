// Elements as numbers that compare: floats of 16 bits widened, all others as they are.
#pragma once

#include <type_traits>

#include "base/half.h"

namespace berth {

template <typename T>
auto Comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

}  // namespace berth
