// The plain version: live blocks in a map by offset, the lowest gap that fits is taken.
#include "runtime/pool/dynamic_pool.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kUnlimitedRangeBytes = int64_t{1} << 40;
constexpr int64_t kLargestBlockBytes = int64_t{1} << 45;

}  // namespace

struct DynamicPool::State {
  DynamicPoolOptions options;
  mutable std::mutex mutex;
  std::map<int64_t, PoolBlock> live ABSL_GUARDED_BY(mutex);  // by offset
  // All below is committed: memory grows at its end only.
  int64_t committed_bytes ABSL_GUARDED_BY(mutex) = 0;
  uint64_t next_handle ABSL_GUARDED_BY(mutex) = 1;
  DynamicPoolStatistics statistics ABSL_GUARDED_BY(mutex);

  int64_t LowestFit(int64_t size_bytes, int64_t alignment) const {
    int64_t at = 0;
    for (const auto& [offset, block] : live) {
      if (at + size_bytes <= offset) break;
      at = AlignUp(offset + block.size_bytes, alignment);
    }
    return at;
  }
  int64_t End() const {
    return live.empty() ? 0 : live.rbegin()->first + live.rbegin()->second.size_bytes;
  }
  int64_t LargestFree() const {
    int64_t largest = 0, at = 0;
    for (const auto& [offset, block] : live) {
      largest = std::max(largest, offset - at);
      at = offset + block.size_bytes;
    }
    return std::max(largest, committed_bytes - at);
  }
};

DynamicPool::DynamicPool(std::unique_ptr<AddressRange> range, std::unique_ptr<State> state)
    : range_(std::move(range)), state_(std::move(state)) {}
DynamicPool::~DynamicPool() = default;

absl::StatusOr<std::unique_ptr<DynamicPool>> DynamicPool::Create(DynamicPoolOptions options) {
  const int64_t size_bytes = options.limit_bytes > 0 ? options.limit_bytes : kUnlimitedRangeBytes;
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<AddressRange> range, ReserveHostRange(size_bytes));
  return Create(std::move(range), options);
}

absl::StatusOr<std::unique_ptr<DynamicPool>> DynamicPool::Create(
    std::unique_ptr<AddressRange> range, DynamicPoolOptions options) {
  if (options.limit_bytes < 0 || options.slab_bytes <= 0) {
    return InvalidArgument("dynamic pool: limit of {} bytes, slabs of {} bytes",
                           options.limit_bytes, options.slab_bytes);
  }
  if (options.limit_bytes == 0 || options.limit_bytes > range->size_bytes()) {
    options.limit_bytes = range->size_bytes();
  }
  options.slab_bytes = AlignUp(options.slab_bytes, range->page_bytes());
  auto state = std::make_unique<State>();
  state->options = options;
  return std::unique_ptr<DynamicPool>(new DynamicPool(std::move(range), std::move(state)));
}

absl::StatusOr<PoolBlock> DynamicPool::Allocate(int64_t size_bytes, int64_t alignment) {
  if (size_bytes < 0 || alignment <= 0 || (alignment & (alignment - 1)) != 0) {
    return InvalidArgument("dynamic pool: {} bytes aligned to {}", size_bytes, alignment);
  }
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const int64_t limit_bytes = state.options.limit_bytes;
  const auto exhausted = [&] {
    ++state.statistics.failed;
    return ResourceExhausted(
        "dynamic pool: {} bytes needed, {} live, largest free block {}, limit {}", size_bytes,
        state.statistics.live_bytes, state.LargestFree(), limit_bytes);
  };
  if (size_bytes > std::min(limit_bytes, kLargestBlockBytes)) return exhausted();
  PoolBlock block = {.size_bytes = AlignUp(std::max<int64_t>(size_bytes, 1), kGranuleBytes)};
  block.offset_bytes = state.LowestFit(block.size_bytes, std::max(alignment, kGranuleBytes));
  const int64_t end_bytes = block.offset_bytes + block.size_bytes;
  if (end_bytes > limit_bytes) return exhausted();
  if (end_bytes > state.committed_bytes) {
    const int64_t grown_bytes = std::min(AlignUp(end_bytes, state.options.slab_bytes),
                                         AlignUp(limit_bytes, range_->page_bytes()));
    BERTH_RETURN_IF_ERROR(
        range_->Commit(state.committed_bytes, grown_bytes - state.committed_bytes));
    state.committed_bytes = grown_bytes;
  }
  block.handle = state.next_handle++;
  state.live.emplace(block.offset_bytes, block);
  DynamicPoolStatistics& statistics = state.statistics;
  ++statistics.allocations;
  statistics.live_bytes += block.size_bytes;
  statistics.peak_live_bytes = std::max(statistics.peak_live_bytes, statistics.live_bytes);
  statistics.peak_reserved_bytes = std::max(statistics.peak_reserved_bytes, state.committed_bytes);
  return block;
}

absl::Status DynamicPool::Free(const PoolBlock& block) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const auto found = state.live.find(block.offset_bytes);
  if (found == state.live.end() || found->second.handle != block.handle) {
    return FailedPrecondition("dynamic pool: no live block of {} bytes at {}", block.size_bytes,
                              block.offset_bytes);
  }
  state.statistics.live_bytes -= found->second.size_bytes;
  ++state.statistics.frees;
  state.live.erase(found);
  return absl::OkStatus();
}

void DynamicPool::Trim() {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const int64_t kept_bytes = AlignUp(state.End(), range_->page_bytes());
  if (kept_bytes >= state.committed_bytes) return;
  range_->Release(kept_bytes, state.committed_bytes - kept_bytes);
  state.committed_bytes = kept_bytes;
}

DynamicPoolStatistics DynamicPool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  DynamicPoolStatistics statistics = state_->statistics;
  statistics.reserved_bytes = state_->committed_bytes;
  statistics.largest_free_bytes = state_->LargestFree();
  return statistics;
}

}  // namespace berth
