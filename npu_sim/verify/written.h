// Rules 6 and 7: which bytes of one buffer (a slot's lease, an output) have been written.
//
// The list order decides: where no two commands race, a write that stands earlier and touches the
// same byte also finishes earlier.
// A buffer that is written whole at once needs no bits; otherwise one bit per byte, until all are
// set. Cost: O(bytes / 64) per access, O(1) once the buffer is full.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "npu_sim/access.h"

namespace berth::verify {

class WrittenBytes {
 public:
  // Bytes [offset_bytes, offset_bytes + size_bytes) of a space.
  WrittenBytes(int64_t offset_bytes, int64_t size_bytes)
      : offset_bytes_(offset_bytes), size_bytes_(size_bytes), unwritten_bytes_(size_bytes) {}

  // The access lies inside the buffer. False when there is no memory for the bits.
  bool Mark(const Access& access);
  // The first byte (from the start of the space) of `access` that is not written, or -1.
  int64_t FirstUnwritten(const Access& access) const;

  // Neither Mark nor FirstUnwritten looks at the runs of such an access one by one.
  bool IsSettled(const Access& access) const {
    return full() || (access.is_write ? access.run_bytes == size_bytes_ : !bits_);
  }
  bool full() const { return unwritten_bytes_ == 0; }
  int64_t unwritten_bytes() const { return unwritten_bytes_; }
  void Release() { bits_.reset(); }

 private:
  struct Free {
    void operator()(uint64_t* bits) const { std::free(bits); }
  };
  void MarkRun(int64_t begin, int64_t end);
  int64_t FirstUnwrittenInRun(int64_t begin, int64_t end) const;

  int64_t offset_bytes_;
  int64_t size_bytes_;
  int64_t unwritten_bytes_;
  std::unique_ptr<uint64_t[], Free> bits_;  // calloc: pages that stay clear cost nothing
};

}  // namespace berth::verify
