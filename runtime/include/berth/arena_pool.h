// ArenaPool: the memory of running requests. An arena is one block that holds a context's pool,
// scratchpad and accumulators; contexts lease arenas and give them back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"

namespace berth {

struct ArenaPoolOptions {
  int64_t limit_bytes = 0;       // of all arenas together; 0: no limit
  bool wait = true;              // at the limit: wait in turn, or fail with ResourceExhausted
  int64_t keep_idle_bytes = -1;  // returned arenas beyond this are freed; -1: keep all until Trim
};

struct ArenaPoolStatistics {
  int64_t leased_bytes = 0, idle_bytes = 0, peak_bytes = 0;
  int64_t leases = 0, reuses = 0, waits = 0;
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

  // ResourceExhausted (needed, leased, limit) where the block can never fit, or at the limit
  // without `wait`. Fresh memory is filled with 0xFF bytes: a NaN in every float format.
  absl::StatusOr<ArenaLease> Lease(int64_t size_bytes);
  // Frees idle arenas until at most `keep_bytes` of them are left.
  void Trim(int64_t keep_bytes = 0);
  ArenaPoolStatistics statistics() const;

 private:
  friend class ArenaLease;
  struct Block {
    std::byte* data = nullptr;
    int64_t size_bytes = 0;
  };
  void Return(Block block);
  bool TryTake(int64_t size_bytes, Block& block);  // with mutex_ held
  void TrimLocked(int64_t keep_bytes);

  const ArenaPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Block> idle_;
  std::deque<int64_t> queue_;  // tickets of waiters, in order
  int64_t next_ticket_ = 0;
  ArenaPoolStatistics statistics_;
};

}  // namespace berth
