// Where an operand's element [0,0,0,0] stands on the host, and the caller's working memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/checked_math.h"
#include "npu_sim/units.h"

namespace berth {

// Null where the operand is absent.
inline std::byte* Resolve(const Operand& operand, const MemoryMap& memory) {
  switch (operand.space) {
    case MemorySpace::kDram:
      return memory.regions[operand.region] + operand.offset_bytes;
    case MemorySpace::kScratchpad:
      return memory.scratchpad + operand.offset_bytes;
    case MemorySpace::kAccumulator:
      return memory.accumulator + operand.offset_bytes;
    case MemorySpace::kNone:
      break;
  }
  return nullptr;
}

// Cuts 64-byte aligned pieces from the caller's scratch. A ScratchBytes function sums AlignedBytes
// of the pieces that its unit takes, so Take never runs out.
class ScratchCursor {
 public:
  static constexpr int64_t kAlignmentBytes = 64;
  static int64_t AlignedBytes(int64_t size_bytes) { return AlignUp(size_bytes, kAlignmentBytes); }

  explicit ScratchCursor(absl::Span<std::byte> scratch) : next_(scratch.data()) {}

  template <typename T>
  T* Take(int64_t count) {
    T* piece = reinterpret_cast<T*>(next_);
    next_ += AlignedBytes(count * static_cast<int64_t>(sizeof(T)));
    return piece;
  }

 private:
  std::byte* next_;
};

}  // namespace berth
