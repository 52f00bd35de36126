// Transposition of one small square block in 128-bit registers, which every x86-64 machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace berth {

// Elements a side of the block that TransposeBlock<T> moves.
template <typename T>
inline constexpr int64_t kTransposeBlock = sizeof(T) == 8   ? 2
                                           : sizeof(T) == 4 ? 4
                                                            : 8;

namespace transpose_internal {

template <typename T>
struct Vector {
  typedef T Type __attribute__((vector_size(16)));
};

// Interleaves the low and the high halves of two vectors of kLanes elements.
template <typename V, typename T>
inline void Interleave(V a, V b, V& low, V& high) {
  if constexpr (sizeof(T) == 8) {
    low = __builtin_shufflevector(a, b, 0, 2);
    high = __builtin_shufflevector(a, b, 1, 3);
  } else if constexpr (sizeof(T) == 4) {
    low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else if constexpr (sizeof(T) == 2) {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    high =
        __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

}  // namespace transpose_internal

// target[r][c] = source[c][r]: `source` holds kTransposeBlock rows `source_stride_bytes` apart.
//
// Interleaving row i with row i + n/2 and repeating log2(n) times transposes an n x n block. Bytes
// come in rows of eight, so there two rows share a register at the end.
template <typename T>
inline void TransposeBlock(const std::byte* source, int64_t source_stride_bytes, std::byte* target,
                           int64_t target_stride_bytes) {
  using V = typename transpose_internal::Vector<T>::Type;
  constexpr int64_t kSide = kTransposeBlock<T>;
  constexpr int64_t kRowBytes = kSide * static_cast<int64_t>(sizeof(T));
  V rows[kSide] = {};
  for (int64_t i = 0; i < kSide; ++i) {
    std::memcpy(&rows[i], source + i * source_stride_bytes, kRowBytes);
  }
  if constexpr (sizeof(T) == 1) {
    V pairs[4], quads[4], high;
    for (int i = 0; i < 4; ++i) {
      transpose_internal::Interleave<V, T>(rows[i], rows[i + 4], pairs[i], high);
    }
    for (int i = 0; i < 2; ++i) {
      transpose_internal::Interleave<V, T>(pairs[i], pairs[i + 2], quads[2 * i], quads[2 * i + 1]);
    }
    V result[4];
    transpose_internal::Interleave<V, T>(quads[0], quads[2], result[0], result[1]);
    transpose_internal::Interleave<V, T>(quads[1], quads[3], result[2], result[3]);
    for (int64_t i = 0; i < 8; ++i) {
      std::memcpy(target + i * target_stride_bytes,
                  reinterpret_cast<const std::byte*>(&result[i / 2]) + i % 2 * 8, 8);
    }
  } else {
    for (int64_t step = 1; step < kSide; step *= 2) {
      V next[kSide];
      for (int64_t i = 0; i < kSide / 2; ++i) {
        transpose_internal::Interleave<V, T>(rows[i], rows[i + kSide / 2], next[2 * i],
                                             next[2 * i + 1]);
      }
      std::memcpy(rows, next, sizeof(rows));
    }
    for (int64_t i = 0; i < kSide; ++i) {
      std::memcpy(target + i * target_stride_bytes, &rows[i], kRowBytes);
    }
  }
}

}  // namespace berth
