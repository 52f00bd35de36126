// DynamicPool: the memory of tensors whose sizes are known only when they are made.
//
// Blocks are offsets into one reserved range of addresses; all bookkeeping stands apart from the
// memory (offset_allocator.h), which is committed as it is needed and given back by Trim. Addresses
// are plenty and memory is not: before holes between blocks cost more than a twelfth of the most
// bytes that were ever live, their pages are given back and the new block takes fresh addresses.
// docs/dynamic_pool.md tells more.
//
// The range is divided into lanes, each with a lock and free blocks of its own, so that contexts on
// several threads seldom meet: the free blocks of its lane are a context's cache. At the limit all
// lanes give back what they do not use.
//
// Invariants: live blocks never overlap, are aligned as asked and committed; live <= reserved <=
// limit (reserved: bytes committed). Thread-safe: any thread may free what another allocated.
// Allocate and Free are O(1) while no memory comes or goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "runtime/pool/address_range.h"
#include "runtime/pool/pool_trace.h"

namespace berth {

struct DynamicPoolOptions {
  int64_t limit_bytes = 0;          // of reserved bytes, rounded up to whole pages; 0: no limit
  int64_t slab_bytes = 512 * 1024;  // memory is committed in so many bytes, or less when scarce
  int lanes = 4;                    // as many contexts as run at once, more or less; 1 to 64
  bool record = false;              // keeps every event for `trace`
};

struct DynamicPoolStatistics {
  int64_t live_bytes = 0;      // in blocks, each rounded up to the pool's granule
  int64_t reserved_bytes = 0;  // committed, in blocks or not
  // Exact where there is one lane. With more, the most that was seen when memory came.
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
  // Over any range, in one lane. A limit that is larger than the range counts as none.
  static absl::StatusOr<std::unique_ptr<DynamicPool>> Create(std::unique_ptr<AddressRange> range,
                                                             DynamicPoolOptions options = {});
  ~DynamicPool();
  DynamicPool(const DynamicPool&) = delete;
  DynamicPool& operator=(const DynamicPool&) = delete;

  // A block of at least `size_bytes` (0 counts as 1). The alignment, a power of two, is the
  // offset's; up to a page it is the address's too.
  // ResourceExhausted names needed, live, largest free and limit. Contents are undefined. `lane`:
  // one that AssignLane gave, for the caller's other blocks too.
  absl::StatusOr<PoolBlock> Allocate(int64_t size_bytes, int64_t alignment = kGranuleBytes,
                                     int lane = 0);
  // FailedPrecondition where the block is not live in this pool; the pool stays as it was.
  absl::Status Free(const PoolBlock& block);

  // Lanes in turn: each context asks once.
  int AssignLane();

  // Gives all whole pages that no block needs back to the system.
  void Trim();

  DynamicPoolStatistics statistics() const;
  // What was allocated and freed so far, in order; empty unless `record`.
  std::vector<PoolEvent> trace() const;
  // nullptr over a range that the host cannot reach.
  std::byte* base() const { return base_; }
  std::byte* data(const PoolBlock& block) const { return base_ + block.offset_bytes; }

 private:
  struct Lane;
  struct Recorder;
  DynamicPool(std::unique_ptr<AddressRange> range, DynamicPoolOptions options);

  absl::StatusOr<PoolBlock> AllocateMore(Lane& lane, int64_t size_bytes, int64_t granted_bytes,
                                         int64_t alignment);
  absl::StatusOr<uint32_t> Grow(Lane& lane, int64_t size_bytes, int64_t alignment);
  bool Reserve(int64_t size_bytes);
  void Release(Lane& lane, int64_t wanted_bytes);
  void Abandon(Lane& lane, uint32_t id, int64_t grown_bytes);
  void GiveBack(Lane& lane, int64_t released_bytes);
  absl::Status Exhausted(int64_t size_bytes);
  int64_t LiveBytes() const;

  const DynamicPoolOptions options_;
  const std::unique_ptr<AddressRange> range_;
  std::byte* const base_;
  const int lane_shift_;  // an offset shifted right by it is its lane's number
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Recorder> recorder_;
  std::atomic<int> next_lane_{0};
  std::atomic<int64_t> reserved_bytes_{0}, peak_reserved_bytes_{0}, peak_live_bytes_{0};
  std::atomic<int64_t> failed_{0};
};

}  // namespace berth
