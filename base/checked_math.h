// Overflow-checked int64 arithmetic: sizes and offsets that come from files pass through here.
#pragma once

#include <cstdint>
#include <optional>

namespace berth {

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> CheckedSub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// ceil(a / b) for a >= 0, b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
// The smallest multiple of `alignment` (> 0) that is >= value (>= 0).
constexpr int64_t AlignUp(int64_t value, int64_t alignment) {
  return CeilDiv(value, alignment) * alignment;
}

}  // namespace berth
