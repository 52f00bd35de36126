// The machine's integer arithmetic by its definition, in whole numbers of 128 bits: values are
// m * 2^e, and every rounding is written out. Nothing here is computed in floating point.
//
// 128 bits hold every product of a 64-bit sum and a 53-bit factor, and quotients of float32 numbers
// to 64 bits with what is left over as one more bit, so that no tie is invented or lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace berth::exact {

using Wide = __int128;

struct Number {
  Wide m = 0;
  int e = 0;
  bool infinite = false;  // of m's sign
};

inline Number Of(int64_t integer) { return {integer, 0}; }

// Of a NaN nothing sensible.
inline Number Of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const int exponent = static_cast<int>(bits >> 23 & 255);
  const int64_t fraction = bits & 0x7fffff;
  const int64_t m = exponent == 0 ? fraction : fraction | 0x800000;
  return {bits >> 31 != 0 ? -m : m, std::max(exponent, 1) - 150, exponent == 255};
}

// m / 2^shift to the nearest whole number, halves to even.
inline Wide HalfEven(Wide m, int shift) {
  if (shift <= 0) return m << -shift;
  if (shift > 120) return 0;
  const Wide floor = m >> shift, rest = m - (floor << shift), half = Wide{1} << (shift - 1);
  const bool up = rest > half || (rest == half && (floor & 1) != 0);
  return floor + (up ? 1 : 0);
}

inline int BitCount(Wide m) {
  int count = 0;
  for (Wide rest = m < 0 ? -m : m; rest != 0; rest >>= 1) ++count;
  return count;
}

// To a binary floating-point number of `bits` bits, no finer than 2^least_exponent and below
// 2^limit_exponent.
inline Number Rounded(const Number& x, int bits, int least_exponent, int limit_exponent) {
  if (x.infinite || x.m == 0) return x;
  const int shift = std::max({BitCount(x.m) - bits, least_exponent - x.e, 0});
  const Number result{HalfEven(x.m, shift), x.e + shift};
  if (result.m == 0) return {};
  if (BitCount(result.m) + result.e > limit_exponent) return {x.m, 0, true};
  return result;
}
inline Number ToFloat(const Number& x) { return Rounded(x, 24, -149, 128); }
inline Number ToDouble(const Number& x) { return Rounded(x, 53, -1074, 1024); }

inline Number Times(const Number& a, const Number& b) {
  if (a.infinite || b.infinite) return {(a.m < 0) != (b.m < 0) ? -1 : 1, 0, true};
  return {a.m * b.m, a.e + b.e};
}

// a / b to more bits than any rounding here asks for; b is finite and above zero.
inline Number Over(const Number& a, const Number& b) {
  if (a.infinite) return a;
  const Wide scaled = (a.m < 0 ? -a.m : a.m) << 70;
  const Wide quotient = scaled / b.m;
  const Wide with_rest = quotient * 2 + (scaled % b.m != 0 ? 1 : 0);
  return {a.m < 0 ? -with_rest : with_rest, a.e - b.e - 71};
}

// To the nearest whole number, halves to even, + offset, within [least, most].
inline int64_t Stored(const Number& x, int64_t offset, int64_t least, int64_t most) {
  const bool large = x.infinite || (x.m != 0 && BitCount(x.m) + x.e > 100);
  if (large) return x.m < 0 ? least : most;
  const Wide whole = HalfEven(x.m, -x.e) + offset;
  return static_cast<int64_t>(std::clamp<Wide>(whole, least, most));
}

// a < b.
inline bool Less(const Number& a, const Number& b) {
  const auto key = [](const Number& x, int e) -> Wide {
    const Wide limit = Wide{1} << 126;
    if (x.m == 0 && !x.infinite) return 0;
    if (x.infinite || BitCount(x.m) + x.e - e > 120) return x.m < 0 ? -limit : limit;
    return x.m << std::max(0, x.e - e);
  };
  const int e = std::min(a.e, b.e);
  return key(a, e) < key(b, e);
}

}  // namespace berth::exact
