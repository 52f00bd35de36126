#include "berth/arena_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kArenaAlignment = 64;
constexpr int kPoisonByte = 0xff;

}  // namespace

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
  if (pool_ != nullptr) pool_->Return({data_, size_bytes_});
  pool_ = nullptr;
  data_ = nullptr;
}

ArenaPool::~ArenaPool() { Trim(0); }

bool ArenaPool::TryTake(int64_t size_bytes, Block& block) {
  // The smallest idle block that is large enough.
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (it->size_bytes >= size_bytes &&
        (best == idle_.end() || it->size_bytes < best->size_bytes)) {
      best = it;
    }
  }
  if (best != idle_.end()) {
    block = *best;
    idle_.erase(best);
    statistics_.idle_bytes -= block.size_bytes;
    ++statistics_.reuses;
    return true;
  }
  if (options_.limit_bytes > 0) {
    // Idle blocks too small for this request make room for it.
    const int64_t room = options_.limit_bytes - statistics_.leased_bytes - size_bytes;
    if (room < 0) return false;
    TrimLocked(room);
  }
  block.data =
      static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(size_bytes)));
  if (block.data == nullptr) return false;
  block.size_bytes = size_bytes;
  std::memset(block.data, kPoisonByte, static_cast<size_t>(size_bytes));
  return true;
}

absl::StatusOr<ArenaLease> ArenaPool::Lease(int64_t size_bytes) {
  size_bytes = AlignUp(std::max<int64_t>(size_bytes, 1), kArenaAlignment);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto exhausted = [&] {
    return ResourceExhausted("arena: {} bytes needed, {} leased, limit {}", size_bytes,
                             statistics_.leased_bytes, options_.limit_bytes);
  };
  if (options_.limit_bytes > 0 && size_bytes > options_.limit_bytes) return exhausted();
  Block block;
  if (!queue_.empty() || !TryTake(size_bytes, block)) {
    if (!options_.wait || options_.limit_bytes == 0) return exhausted();
    const int64_t ticket = next_ticket_++;
    queue_.push_back(ticket);
    ++statistics_.waits;
    changed_.wait(lock, [&] { return queue_.front() == ticket && TryTake(size_bytes, block); });
    queue_.pop_front();
    changed_.notify_all();
  }
  ++statistics_.leases;
  statistics_.leased_bytes += block.size_bytes;
  statistics_.peak_bytes =
      std::max(statistics_.peak_bytes, statistics_.leased_bytes + statistics_.idle_bytes);
  ArenaLease lease;
  lease.pool_ = this;
  lease.data_ = block.data;
  lease.size_bytes_ = block.size_bytes;
  return lease;
}

void ArenaPool::Return(Block block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statistics_.leased_bytes -= block.size_bytes;
  statistics_.idle_bytes += block.size_bytes;
  idle_.push_back(block);
  if (options_.keep_idle_bytes >= 0) TrimLocked(options_.keep_idle_bytes);
  changed_.notify_all();
}

void ArenaPool::TrimLocked(int64_t keep_bytes) {
  while (statistics_.idle_bytes > keep_bytes && !idle_.empty()) {
    const Block block = idle_.front();  // the one idle for longest
    idle_.erase(idle_.begin());
    statistics_.idle_bytes -= block.size_bytes;
    std::free(block.data);
  }
}

void ArenaPool::Trim(int64_t keep_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TrimLocked(keep_bytes);
}

ArenaPoolStatistics ArenaPool::statistics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace berth
