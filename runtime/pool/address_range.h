// AddressRange: address space whose memory comes and goes by the page. The dynamic pool decides on
// offsets alone; this is all that it asks of the memory behind them, so that host memory, a
// device's window or nothing at all (for tests and planning) may stand there.
//
// Invariant: a range starts with no page committed; what a page held is lost when it is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace berth {

class AddressRange {
 public:
  virtual ~AddressRange() = default;
  // nullptr where the host cannot reach the memory.
  virtual std::byte* base() const = 0;
  virtual int64_t size_bytes() const = 0;
  // Offsets and sizes given to the two below are multiples of it; a power of two.
  virtual int64_t page_bytes() const = 0;
  // ResourceExhausted where the system has no memory left.
  virtual absl::Status Commit(int64_t offset_bytes, int64_t size_bytes) = 0;
  virtual void Release(int64_t offset_bytes, int64_t size_bytes) = 0;
};

// Host memory: `size_bytes` (rounded up to pages) of address space, reserved at once without
// memory behind it. Committing makes pages accessible, releasing gives them back to the system.
absl::StatusOr<std::unique_ptr<AddressRange>> ReserveHostRange(int64_t size_bytes);

// Addresses only: `size_bytes` in pages of `page_bytes`, no memory that the host could touch.
std::unique_ptr<AddressRange> MakeVirtualRange(int64_t size_bytes, int64_t page_bytes = 4096);

}  // namespace berth
