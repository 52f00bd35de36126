#include "berth/arena_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/checked_math.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kArenaAlignment = 64;
constexpr int64_t kMostArenaBytes = int64_t{1} << 40;  // more than a host has: not even asked for
constexpr int kPoisonByte = 0xff;

int64_t NanosecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

}  // namespace

struct alignas(kArenaAlignment) ArenaPool::Block {
  int64_t size_bytes = 0;  // of what is leased
  Block* previous = nullptr;
  Block* next = nullptr;
  Clock::time_point idle_since;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  static Block* Of(std::byte* data) { return reinterpret_cast<Block*>(data) - 1; }
};

// On the stack of a thread that waits.
struct ArenaPool::Waiter {
  Waiter* next = nullptr;
  std::condition_variable changed;
};

void ArenaPool::BlockList::Append(Block* block) {
  block->previous = last;
  block->next = nullptr;
  (last != nullptr ? last->next : first) = block;
  last = block;
}

void ArenaPool::BlockList::Remove(Block* block) {
  (block->previous != nullptr ? block->previous->next : first) = block->next;
  (block->next != nullptr ? block->next->previous : last) = block->previous;
}

ArenaLease& ArenaLease::operator=(ArenaLease&& other) noexcept {
  if (this != &other) {
    Release();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void ArenaLease::Release() {
  if (pool_ != nullptr) pool_->Return(data_);
  pool_ = nullptr;
  data_ = nullptr;
  size_bytes_ = 0;
}

ArenaPool::~ArenaPool() { Free(idle_); }

bool ArenaPool::Reserve(int64_t size_bytes, Block*& block, BlockList& freed) {
  // The smallest idle block that is large enough.
  Block* best = nullptr;
  for (Block* b = idle_.first; b != nullptr; b = b->next) {
    if (b->size_bytes < size_bytes) continue;
    if (best == nullptr || b->size_bytes < best->size_bytes) best = b;
  }
  if (best == nullptr && options_.limit_bytes > 0) {
    // Idle blocks too small for this request make room for it.
    const int64_t room = options_.limit_bytes - statistics_.leased_bytes - size_bytes;
    if (room < 0) return false;
    TrimLocked(room, freed);
  }
  if (best != nullptr) {
    idle_.Remove(best);
    statistics_.idle_bytes -= best->size_bytes;
    ++statistics_.reuses;
  }
  statistics_.leased_bytes += best != nullptr ? best->size_bytes : size_bytes;
  statistics_.peak_bytes =
      std::max(statistics_.peak_bytes, statistics_.leased_bytes + statistics_.idle_bytes);
  block = best;
  return true;
}

absl::Status ArenaPool::Exhausted(int64_t size_bytes) {
  ++statistics_.refused;
  return ResourceExhausted("arena: {} bytes needed, {} leased, limit {}", size_bytes,
                           statistics_.leased_bytes, options_.limit_bytes);
}

absl::Status ArenaPool::AwaitTurn(std::unique_lock<std::mutex>& lock, int64_t size_bytes,
                                  const StopConditions& stop, Block*& block, BlockList& freed) {
  const Clock::time_point begin = Clock::now();
  Waiter self;
  (last_waiter_ != nullptr ? last_waiter_->next : first_waiter_) = &self;
  last_waiter_ = &self;
  ++statistics_.waits;
  ++statistics_.waiting;
  absl::Status status;
  while (true) {
    if (status = CheckStop(stop); !status.ok()) break;
    if (first_waiter_ == &self && Reserve(size_bytes, block, freed)) break;
    if (stop.deadline) {
      self.changed.wait_until(lock, *stop.deadline);
    } else {
      self.changed.wait(lock);
    }
  }
  Waiter* before = nullptr;
  if (first_waiter_ != &self) {
    for (before = first_waiter_; before->next != &self; before = before->next) {
    }
  }
  (before != nullptr ? before->next : first_waiter_) = self.next;
  if (last_waiter_ == &self) last_waiter_ = before;
  --statistics_.waiting;
  statistics_.wait_ns += NanosecondsSince(begin);
  statistics_.stopped += !status.ok();
  WakeFirst();  // the next may fit beside this one, or where this one gave up
  return status.ok() ? status
                     : Annotate(status, fmt::format("waiting for an arena of {} bytes, {} leased, "
                                                    "limit {}",
                                                    size_bytes, statistics_.leased_bytes,
                                                    options_.limit_bytes));
}

absl::StatusOr<ArenaPool::Block*> ArenaPool::NewBlock(int64_t size_bytes) {
  const auto whole_bytes = static_cast<size_t>(size_bytes) + sizeof(Block);
  void* memory = std::aligned_alloc(kArenaAlignment, whole_bytes);
  if (memory == nullptr) {  // what is idle may be what lacks
    Trim(0);
    memory = std::aligned_alloc(kArenaAlignment, whole_bytes);
  }
  if (memory == nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    statistics_.leased_bytes -= size_bytes;
    WakeFirst();
    return Exhausted(size_bytes);
  }
  Block* const block = new (memory) Block;
  block->size_bytes = size_bytes;
  std::memset(block->data(), kPoisonByte, static_cast<size_t>(size_bytes));
  return block;
}

absl::StatusOr<ArenaLease> ArenaPool::Lease(int64_t size_bytes, const StopConditions& stop) {
  BlockList freed;
  Block* block = nullptr;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (size_bytes > kMostArenaBytes) return Exhausted(size_bytes);
    size_bytes = AlignUp(std::max<int64_t>(size_bytes, 1), kArenaAlignment);
    if (options_.limit_bytes > 0 && size_bytes > options_.limit_bytes) {
      return Exhausted(size_bytes);
    }
    TrimOldLocked(freed);
    absl::Status status;
    if (first_waiter_ != nullptr || !Reserve(size_bytes, block, freed)) {
      status =
          options_.wait ? AwaitTurn(lock, size_bytes, stop, block, freed) : Exhausted(size_bytes);
    }
    statistics_.leases += status.ok();
    lock.unlock();
    Free(freed);
    BERTH_RETURN_IF_ERROR(status);
  }
  if (block == nullptr) {
    BERTH_ASSIGN_OR_RETURN(block, NewBlock(size_bytes));
  }
  ArenaLease lease;
  lease.pool_ = this;
  lease.data_ = block->data();
  lease.size_bytes_ = block->size_bytes;
  return lease;
}

void ArenaPool::Return(std::byte* data) {
  Block* const block = Block::Of(data);
  BlockList freed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (options_.keep_idle_for) block->idle_since = Clock::now();
    statistics_.leased_bytes -= block->size_bytes;
    statistics_.idle_bytes += block->size_bytes;
    idle_.Append(block);
    if (options_.keep_idle_bytes >= 0) TrimLocked(options_.keep_idle_bytes, freed);
    TrimOldLocked(freed);
    WakeFirst();
  }
  Free(freed);
}

void ArenaPool::TrimLocked(int64_t keep_bytes, BlockList& freed) {
  while (statistics_.idle_bytes > keep_bytes && idle_.first != nullptr) {
    Block* const block = idle_.first;  // the one idle for longest
    idle_.Remove(block);
    statistics_.idle_bytes -= block->size_bytes;
    statistics_.trimmed_bytes += block->size_bytes;
    freed.Append(block);
  }
}

void ArenaPool::TrimOldLocked(BlockList& freed) {
  if (!options_.keep_idle_for || idle_.first == nullptr) return;
  const Clock::time_point oldest = Clock::now() - *options_.keep_idle_for;
  while (idle_.first != nullptr && idle_.first->idle_since <= oldest) {
    TrimLocked(statistics_.idle_bytes - idle_.first->size_bytes, freed);
  }
}

void ArenaPool::Free(BlockList& freed) {
  while (freed.first != nullptr) {
    Block* const block = freed.first;
    freed.Remove(block);
    block->~Block();
    std::free(block);
  }
}

void ArenaPool::Trim(int64_t keep_bytes) {
  BlockList freed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TrimLocked(std::max<int64_t>(keep_bytes, 0), freed);
    TrimOldLocked(freed);
  }
  Free(freed);
}

void ArenaPool::WakeFirst() {
  if (first_waiter_ != nullptr) first_waiter_->changed.notify_one();
}

void ArenaPool::WakeWaiters() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Waiter* waiter = first_waiter_; waiter != nullptr; waiter = waiter->next) {
    waiter->changed.notify_one();
  }
}

ArenaPoolStatistics ArenaPool::statistics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace berth
