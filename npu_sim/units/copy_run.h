// memcpy for short runs: inlined, because im2col and strided copies move runs of tens of bytes,
// where a call costs more than the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace berth {

// The two ranges are disjoint or the same.
inline void CopyRun(std::byte* target, const std::byte* source, int64_t size_bytes) {
  if (target == source) return;
  if (size_bytes > 256) {
    std::memcpy(target, source, static_cast<size_t>(size_bytes));
    return;
  }
  // Whole steps, then one step that ends at the last byte and may overlap the one before.
  auto copy_in_steps = [&](auto step) {
    constexpr int64_t kStep = decltype(step)::value;
    for (int64_t i = 0; i + kStep <= size_bytes; i += kStep) {
      std::memcpy(target + i, source + i, kStep);
    }
    std::memcpy(target + size_bytes - kStep, source + size_bytes - kStep, kStep);
  };
  if (size_bytes >= 16) {
    copy_in_steps(std::integral_constant<int64_t, 16>{});
  } else if (size_bytes >= 4) {
    copy_in_steps(std::integral_constant<int64_t, 4>{});
  } else {
    for (int64_t i = 0; i < size_bytes; ++i) target[i] = source[i];
  }
}

// `count` runs of one length.
inline void CopyRuns(std::byte* target, int64_t target_step_bytes, const std::byte* source,
                     int64_t source_step_bytes, int64_t size_bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    CopyRun(target + i * target_step_bytes, source + i * source_step_bytes, size_bytes);
  }
}

}  // namespace berth
