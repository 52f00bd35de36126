// ArenaPool: the memory of running requests. An arena is one block that holds a context's pool,
// scratchpad and accumulators; contexts lease arenas and give them back.
//
// Bookkeeping stands in front of each block and on the stacks of those who wait: but for the blocks
// themselves nothing is allocated, and leases of blocks that are there allocate nothing. Blocks are
// got, filled and freed outside the lock. Cost of a lease: O(idle blocks).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/stop.h"

namespace berth {

struct ArenaPoolOptions {
  int64_t limit_bytes = 0;       // of all arenas together; 0: no limit
  bool wait = true;              // at the limit: wait in turn, or fail with ResourceExhausted
  int64_t keep_idle_bytes = -1;  // returned arenas beyond this are freed; -1: keep all until Trim
  // Arenas that nobody used for so long are freed, the next time that anyone leases, returns or
  // trims: the pool has no thread of its own.
  std::optional<std::chrono::milliseconds> keep_idle_for;
};

struct ArenaPoolStatistics {
  int64_t leased_bytes = 0, idle_bytes = 0, peak_bytes = 0;
  int64_t leases = 0, reuses = 0;
  int64_t waits = 0;          // leases that had to wait, whatever came of it
  int64_t waiting = 0;        // now
  int64_t wait_ns = 0;        // of all waits that are over
  int64_t refused = 0;        // ResourceExhausted
  int64_t stopped = 0;        // waits that a cancel or a deadline ended
  int64_t trimmed_bytes = 0;  // freed while the pool lived
};

class ArenaPool;

// A leased block, 64-byte aligned; returns to its pool when destroyed. The pool outlives it.
class ArenaLease {
 public:
  ArenaLease() = default;
  ArenaLease(ArenaLease&& other) noexcept { *this = std::move(other); }
  ArenaLease& operator=(ArenaLease&& other) noexcept;
  ~ArenaLease() { Release(); }

  std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  void Release();

 private:
  friend class ArenaPool;
  ArenaPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
};

// Thread-safe. Waiters are served in the order of their coming.
class ArenaPool {
 public:
  explicit ArenaPool(ArenaPoolOptions options = {}) : options_(options) {}
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  // ResourceExhausted (needed, leased, limit) where the block can never fit, at the limit without
  // `wait`, or where the system has no memory; Cancelled or DeadlineExceeded where `stop` ends the
  // wait, which WakeWaiters makes look. Fresh memory is filled with 0xFF bytes: a NaN in every
  // float format.
  absl::StatusOr<ArenaLease> Lease(int64_t size_bytes, const StopConditions& stop = {});
  // Frees idle arenas, the longest idle first, until at most `keep_bytes` of them are left.
  void Trim(int64_t keep_bytes = 0);
  // Makes those who wait look at their `stop` again: to be called after a cancel.
  void WakeWaiters();
  ArenaPoolStatistics statistics() const;

 private:
  friend class ArenaLease;
  struct Block;  // stands in front of the bytes that are leased
  struct Waiter;
  struct BlockList {  // by the time of their return, the oldest first
    Block* first = nullptr;
    Block* last = nullptr;
    void Append(Block* block);
    void Remove(Block* block);
  };

  void Return(std::byte* data);
  // The rest with mutex_ held. Blocks that are given up are collected in `freed`.
  bool Reserve(int64_t size_bytes, Block*& block, BlockList& freed);
  absl::Status AwaitTurn(std::unique_lock<std::mutex>& lock, int64_t size_bytes,
                         const StopConditions& stop, Block*& block, BlockList& freed);
  void TrimLocked(int64_t keep_bytes, BlockList& freed);
  void TrimOldLocked(BlockList& freed);
  void WakeFirst();
  absl::Status Exhausted(int64_t size_bytes);
  // Without mutex_: the system's part of a lease, and the end of blocks.
  absl::StatusOr<Block*> NewBlock(int64_t size_bytes);
  static void Free(BlockList& freed);

  const ArenaPoolOptions options_;
  mutable std::mutex mutex_;
  BlockList idle_;
  Waiter* first_waiter_ = nullptr;
  Waiter* last_waiter_ = nullptr;
  ArenaPoolStatistics statistics_;
};

}  // namespace berth
