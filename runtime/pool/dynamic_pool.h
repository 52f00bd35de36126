// DynamicPool: the memory of tensors whose sizes are known only when they are made.
//
// Blocks are offsets into one reserved range of addresses; all bookkeeping stands apart from the
// memory, which is committed as it is needed and given back by Trim.
//
// Invariants: live blocks never overlap, are aligned as asked and committed; live <= reserved <=
// limit (reserved: bytes committed). Thread-safe: any thread may free what another allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "runtime/pool/address_range.h"

namespace berth {

struct DynamicPoolOptions {
  int64_t limit_bytes = 0;           // of reserved bytes; 0: no limit
  int64_t slab_bytes = 1024 * 1024;  // memory is committed in so many bytes at least
};

struct DynamicPoolStatistics {
  int64_t live_bytes = 0;      // in blocks, each rounded up to the pool's granule
  int64_t reserved_bytes = 0;  // committed, in blocks or not
  int64_t peak_live_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  int64_t largest_free_bytes = 0;  // the largest block that needs no more memory
  int64_t allocations = 0, frees = 0;
  int64_t failed = 0;  // allocations that were refused
};

// A piece of the pool: [offset_bytes, offset_bytes + size_bytes) from its base.
struct PoolBlock {
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;  // as granted: at least what was asked for
  uint64_t handle = 0;     // the pool's own
};

class DynamicPool {
 public:
  static constexpr int64_t kGranuleBytes = 64;

  // Over host memory.
  static absl::StatusOr<std::unique_ptr<DynamicPool>> Create(DynamicPoolOptions options = {});
  // Over any range; a limit that is larger than the range counts as none.
  static absl::StatusOr<std::unique_ptr<DynamicPool>> Create(std::unique_ptr<AddressRange> range,
                                                             DynamicPoolOptions options = {});
  ~DynamicPool();
  DynamicPool(const DynamicPool&) = delete;
  DynamicPool& operator=(const DynamicPool&) = delete;

  // A block of at least `size_bytes` (0 counts as 1). The alignment, a power of two, is the
  // offset's; up to a page it is the address's too.
  // ResourceExhausted names needed, live, largest free and limit. Contents are undefined.
  absl::StatusOr<PoolBlock> Allocate(int64_t size_bytes, int64_t alignment = kGranuleBytes);
  // FailedPrecondition where the block is not live in this pool; the pool stays as it was.
  absl::Status Free(const PoolBlock& block);

  // Gives all memory that no block needs back to the system.
  void Trim();

  DynamicPoolStatistics statistics() const;
  // nullptr over a range that the host cannot reach.
  std::byte* base() const { return range_->base(); }
  std::byte* data(const PoolBlock& block) const { return base() + block.offset_bytes; }

 private:
  struct State;
  DynamicPool(std::unique_ptr<AddressRange> range, std::unique_ptr<State> state);

  std::unique_ptr<AddressRange> range_;
  std::unique_ptr<State> state_;
};

}  // namespace berth
