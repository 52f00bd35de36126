// Storage types for 16-bit floats. Arithmetic is done in float; rounding is to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace berth {

uint16_t Float32ToHalfBits(float value);
float HalfBitsToFloat32(uint16_t bits);

struct Half {  // IEEE 754 binary16
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(Float32ToHalfBits(value)) {}
  explicit operator float() const { return HalfBitsToFloat32(bits); }
};

struct BFloat {  // the upper half of binary32
  uint16_t bits = 0;
  BFloat() = default;
  explicit BFloat(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = is_nan ? static_cast<uint16_t>((word >> 16) | 0x40u)
                  : static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace berth
