#include "runtime/pool/dynamic_pool.h"

#include <oneapi/tbb/spin_mutex.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/checked_math.h"
#include "runtime/pool/offset_allocator.h"

namespace berth {
namespace {

using NodeId = OffsetAllocator::NodeId;
using Extent = OffsetAllocator::Extent;

constexpr int64_t kLargestLimitBytes = int64_t{1} << 40;
constexpr int64_t kLargestRangeBytes = int64_t{1} << 40;  // of all lanes
constexpr int64_t kSmallestLaneBytes = 1 << 16;           // whole pages of any machine
// Where the process may not have that many addresses, lanes are smaller down to this.
constexpr int64_t kLeastLaneBytes = int64_t{1} << 28;
constexpr int kMostLanes = 64;
// A lane has so many times the limit of addresses, so that holes never make it fail.
constexpr int64_t kAddressesPerLimit = 4;
// Reserved may exceed the most that was ever live by this part of it before holes are given back.
constexpr int64_t kHolesPart = 12;
constexpr size_t kCacheLineBytes = 64;
constexpr int kGenerationShift = 32;

int64_t SumOfSizes(const std::vector<Extent>& extents) {
  int64_t sum_bytes = 0;
  for (const Extent& extent : extents) sum_bytes += extent.size_bytes;
  return sum_bytes;
}

void RaiseTo(std::atomic<int64_t>& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

absl::Status CheckSizes(const DynamicPoolOptions& options) {
  if (options.limit_bytes > 0 && options.limit_bytes <= kLargestLimitBytes &&
      options.slab_bytes > 0 && options.slab_bytes <= kLargestLimitBytes) {
    return absl::OkStatus();
  }
  return InvalidArgument("dynamic pool: limit of {} bytes, slabs of {}, possible to {}",
                         options.limit_bytes, options.slab_bytes, kLargestLimitBytes);
}

DynamicPoolOptions RoundedToPages(DynamicPoolOptions options, int64_t page_bytes) {
  options.limit_bytes = AlignUp(options.limit_bytes, page_bytes);
  options.slab_bytes = AlignUp(options.slab_bytes, page_bytes);
  return options;
}

}  // namespace

struct alignas(kCacheLineBytes) DynamicPool::Lane {
  Lane(int64_t begin_bytes, int64_t end_bytes, int64_t page_bytes)
      : blocks(begin_bytes, end_bytes, page_bytes) {}

  mutable tbb::spin_mutex mutex;  // held for nanoseconds, except while memory comes or goes
  OffsetAllocator blocks ABSL_GUARDED_BY(mutex);
  std::atomic<int64_t> live_bytes{0};  // written under the mutex only
  int64_t peak_live_bytes ABSL_GUARDED_BY(mutex) = 0;
  int64_t reserved_bytes ABSL_GUARDED_BY(mutex) = 0;
  int64_t allocations ABSL_GUARDED_BY(mutex) = 0;
  int64_t frees ABSL_GUARDED_BY(mutex) = 0;
  std::vector<Extent> to_commit ABSL_GUARDED_BY(mutex);  // kept, so that they need not grow again
  std::vector<Extent> to_release ABSL_GUARDED_BY(mutex);

  int64_t Live() const { return live_bytes.load(std::memory_order_relaxed); }
  PoolBlock Count(NodeId id) {
    const OffsetAllocator::Node& node = blocks.node(id);
    const int64_t now_live_bytes = Live() + node.size_bytes;
    live_bytes.store(now_live_bytes, std::memory_order_relaxed);
    peak_live_bytes = std::max(peak_live_bytes, now_live_bytes);
    ++allocations;
    return {node.offset_bytes, node.size_bytes, uint64_t{node.generation} << kGenerationShift | id};
  }
};

struct DynamicPool::Recorder {
  mutable std::mutex mutex;
  std::vector<PoolEvent> events ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<int64_t, int64_t> id_by_offset ABSL_GUARDED_BY(mutex);
  int64_t next_id ABSL_GUARDED_BY(mutex) = 0;

  void Allocated(const PoolBlock& block, int64_t size_bytes, int64_t alignment) {
    const std::lock_guard lock(mutex);
    id_by_offset[block.offset_bytes] = next_id;
    events.push_back({.id = next_id++, .size_bytes = size_bytes, .alignment = alignment});
  }
  void Freed(int64_t offset_bytes) {
    const std::lock_guard lock(mutex);
    events.push_back({.kind = PoolEvent::Kind::kFree, .id = id_by_offset[offset_bytes]});
  }
};

absl::StatusOr<std::unique_ptr<DynamicPool>> DynamicPool::Create(DynamicPoolOptions options) {
  if (options.lanes < 1 || options.lanes > kMostLanes) {
    return InvalidArgument("dynamic pool: {} lanes, possible 1 to {}", options.lanes, kMostLanes);
  }
  const int64_t least_lane_bytes =
      options.limit_bytes == 0 ? kLeastLaneBytes : std::min(options.limit_bytes, kLeastLaneBytes);
  if (options.limit_bytes == 0) options.limit_bytes = kLargestLimitBytes;
  BERTH_RETURN_IF_ERROR(CheckSizes(options));
  const auto wanted_bytes = static_cast<uint64_t>(options.limit_bytes * kAddressesPerLimit);
  int64_t lane_bytes = std::max<int64_t>(
      std::min(static_cast<int64_t>(std::bit_ceil(wanted_bytes)),
               kLargestRangeBytes / static_cast<int64_t>(std::bit_ceil(unsigned(options.lanes)))),
      kSmallestLaneBytes);
  absl::StatusOr<std::unique_ptr<AddressRange>> range =
      ReserveHostRange(lane_bytes * options.lanes);
  while (absl::IsResourceExhausted(range.status()) && lane_bytes / 2 >= least_lane_bytes) {
    lane_bytes /= 2;
    range = ReserveHostRange(lane_bytes * options.lanes);
  }
  if (!range.ok()) return range.status();
  return std::unique_ptr<DynamicPool>(new DynamicPool(*std::move(range), options));
}

absl::StatusOr<std::unique_ptr<DynamicPool>> DynamicPool::Create(
    std::unique_ptr<AddressRange> range, DynamicPoolOptions options) {
  options.lanes = 1;
  if (options.limit_bytes == 0 || options.limit_bytes > range->size_bytes()) {
    options.limit_bytes = range->size_bytes();
  }
  BERTH_RETURN_IF_ERROR(CheckSizes(options));
  return std::unique_ptr<DynamicPool>(new DynamicPool(std::move(range), options));
}

DynamicPool::DynamicPool(std::unique_ptr<AddressRange> range, DynamicPoolOptions options)
    : options_(RoundedToPages(options, range->page_bytes())),
      range_(std::move(range)),
      base_(range_->base()),
      lane_shift_(std::bit_width(static_cast<uint64_t>(range_->size_bytes() / options.lanes - 1))) {
  const int64_t lane_bytes = range_->size_bytes() / options.lanes;
  for (int64_t lane = 0; lane < options.lanes; ++lane) {
    lanes_.push_back(
        std::make_unique<Lane>(lane * lane_bytes, (lane + 1) * lane_bytes, range_->page_bytes()));
  }
  if (options.record) recorder_ = std::make_unique<Recorder>();
}

DynamicPool::~DynamicPool() = default;

int DynamicPool::AssignLane() {
  return static_cast<int>(next_lane_.fetch_add(1, std::memory_order_relaxed) % lanes_.size());
}

absl::StatusOr<PoolBlock> DynamicPool::Allocate(int64_t size_bytes, int64_t alignment,
                                                int lane_number) {
  if (size_bytes < 0 || alignment <= 0 || (alignment & (alignment - 1)) != 0 ||
      static_cast<size_t>(lane_number) >= lanes_.size()) {
    return InvalidArgument("dynamic pool: {} bytes aligned to {} in lane {} of {}", size_bytes,
                           alignment, lane_number, lanes_.size());
  }
  if (size_bytes > options_.limit_bytes || alignment > options_.limit_bytes) {
    return Exhausted(size_bytes);
  }
  const int64_t granted_bytes =
      (std::max<int64_t>(size_bytes, 1) + kGranuleBytes - 1) & -kGranuleBytes;
  alignment = std::max(alignment, kGranuleBytes);
  Lane& lane = *lanes_[static_cast<size_t>(lane_number)];
  {
    const tbb::spin_mutex::scoped_lock lock(lane.mutex);
    if (const NodeId id = lane.blocks.Take(granted_bytes, alignment);
        id != OffsetAllocator::kNone) {
      const PoolBlock block = lane.Count(id);
      if (recorder_ != nullptr) recorder_->Allocated(block, size_bytes, alignment);
      return block;
    }
  }
  return AllocateMore(lane, size_bytes, granted_bytes, alignment);
}

absl::StatusOr<PoolBlock> DynamicPool::AllocateMore(Lane& lane, int64_t size_bytes,
                                                    int64_t granted_bytes, int64_t alignment) {
  for (const bool is_last_try : {false, true}) {
    {
      const tbb::spin_mutex::scoped_lock lock(lane.mutex);
      NodeId id = lane.blocks.Take(granted_bytes, alignment);
      if (id == OffsetAllocator::kNone) {
        BERTH_ASSIGN_OR_RETURN(id, Grow(lane, granted_bytes, alignment));
      }
      if (id != OffsetAllocator::kNone) {
        const PoolBlock block = lane.Count(id);
        if (recorder_ != nullptr) recorder_->Allocated(block, size_bytes, alignment);
        return block;
      }
    }
    if (!is_last_try) Trim();
  }
  return Exhausted(size_bytes);
}

bool DynamicPool::Reserve(int64_t size_bytes) {
  int64_t seen_bytes = reserved_bytes_.load();
  do {
    if (seen_bytes + size_bytes > options_.limit_bytes) return false;
  } while (!reserved_bytes_.compare_exchange_weak(seen_bytes, seen_bytes + size_bytes));
  return true;
}

// With the lane locked. kNone where addresses or the limit do not suffice.
absl::StatusOr<uint32_t> DynamicPool::Grow(Lane& lane, int64_t size_bytes, int64_t alignment) {
  const int64_t slab_bytes = options_.slab_bytes, page_bytes = range_->page_bytes();
  const int64_t peak_bytes = std::max(lane.peak_live_bytes, lane.Live() + size_bytes);
  const int64_t allowed_bytes =
      peak_bytes + std::max(2 * (slab_bytes + page_bytes), peak_bytes / kHolesPart);
  // Whole slabs only where nothing need be given back for them.
  const int64_t with_slab_bytes = size_bytes + slab_bytes + 2 * page_bytes;
  const bool takes_slab = lane.reserved_bytes + with_slab_bytes <= allowed_bytes &&
                          reserved_bytes_.load() + with_slab_bytes <= options_.limit_bytes;
  lane.to_commit.clear();
  const NodeId id = lane.blocks.TakeCold(size_bytes, alignment,
                                         takes_slab ? slab_bytes : page_bytes, lane.to_commit);
  if (id == OffsetAllocator::kNone) return id;
  const int64_t grown_bytes = SumOfSizes(lane.to_commit);
  if (!Reserve(grown_bytes)) {
    Release(lane, grown_bytes);
    if (!Reserve(grown_bytes)) {
      Abandon(lane, id, grown_bytes);
      return OffsetAllocator::kNone;
    }
  }
  for (const Extent& extent : lane.to_commit) {
    if (absl::Status status = range_->Commit(extent.offset_bytes, extent.size_bytes);
        !status.ok()) {
      reserved_bytes_ -= grown_bytes;
      Abandon(lane, id, grown_bytes);
      failed_.fetch_add(1, std::memory_order_relaxed);
      return status;
    }
  }
  lane.reserved_bytes += grown_bytes;
  if (lane.reserved_bytes > allowed_bytes) {
    Release(lane, lane.reserved_bytes - allowed_bytes);
  }
  RaiseTo(peak_reserved_bytes_, reserved_bytes_.load());
  RaiseTo(peak_live_bytes_, LiveBytes() + size_bytes);
  return id;
}

// With the lane locked: undoes TakeCold where `grown_bytes` of the block were not committed.
void DynamicPool::Abandon(Lane& lane, uint32_t id, int64_t grown_bytes) {
  lane.to_release.clear();
  lane.blocks.Abandon(id, lane.to_release);
  const int64_t released_bytes = SumOfSizes(lane.to_release) - grown_bytes;
  GiveBack(lane, released_bytes);
}

// With the lane locked: gives pages of free blocks back, largest blocks first.
void DynamicPool::Release(Lane& lane, int64_t wanted_bytes) {
  lane.to_release.clear();
  lane.blocks.Chill(wanted_bytes, lane.to_release);
  GiveBack(lane, SumOfSizes(lane.to_release));
}

void DynamicPool::GiveBack(Lane& lane, int64_t released_bytes) {
  for (const Extent& extent : lane.to_release) {
    range_->Release(extent.offset_bytes, extent.size_bytes);
  }
  lane.reserved_bytes -= released_bytes;
  reserved_bytes_ -= released_bytes;
}

absl::Status DynamicPool::Free(const PoolBlock& block) {
  const auto lane_number = static_cast<uint64_t>(block.offset_bytes) >> lane_shift_;
  const auto id = static_cast<NodeId>(block.handle);
  if (lane_number < lanes_.size()) {
    Lane& lane = *lanes_[lane_number];
    const tbb::spin_mutex::scoped_lock lock(lane.mutex);
    if (lane.blocks.IsLive(id, static_cast<uint32_t>(block.handle >> kGenerationShift))) {
      if (recorder_ != nullptr) recorder_->Freed(block.offset_bytes);
      lane.live_bytes.store(lane.Live() - lane.blocks.node(id).size_bytes,
                            std::memory_order_relaxed);
      ++lane.frees;
      lane.blocks.Free(id);
      return absl::OkStatus();
    }
  }
  return FailedPrecondition("dynamic pool: no live block of {} bytes at {}", block.size_bytes,
                            block.offset_bytes);
}

void DynamicPool::Trim() {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    const tbb::spin_mutex::scoped_lock lock(lane->mutex);
    Release(*lane, lane->reserved_bytes);
  }
}

int64_t DynamicPool::LiveBytes() const {
  int64_t live_bytes = 0;
  for (const std::unique_ptr<Lane>& lane : lanes_) live_bytes += lane->Live();
  return live_bytes;
}

absl::Status DynamicPool::Exhausted(int64_t size_bytes) {
  failed_.fetch_add(1, std::memory_order_relaxed);
  int64_t largest_bytes = 0;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    const tbb::spin_mutex::scoped_lock lock(lane->mutex);
    largest_bytes = std::max(largest_bytes, lane->blocks.LargestFreeBytes());
  }
  const int64_t live_bytes = LiveBytes();
  return ResourceExhausted(
      "dynamic pool: {} bytes needed, {} live, largest free {}, limit {}", size_bytes, live_bytes,
      std::min(largest_bytes, options_.limit_bytes - live_bytes), options_.limit_bytes);
}

DynamicPoolStatistics DynamicPool::statistics() const {
  DynamicPoolStatistics sum;
  sum.peak_live_bytes = peak_live_bytes_.load();
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    const tbb::spin_mutex::scoped_lock lock(lane->mutex);
    sum.live_bytes += lane->Live();
    sum.reserved_bytes += lane->reserved_bytes;
    sum.peak_live_bytes = std::max(sum.peak_live_bytes, lane->peak_live_bytes);
    sum.largest_free_bytes = std::max(sum.largest_free_bytes, lane->blocks.LargestWarmBytes());
    sum.allocations += lane->allocations;
    sum.frees += lane->frees;
  }
  sum.peak_reserved_bytes = peak_reserved_bytes_.load();
  sum.failed = failed_.load();
  return sum;
}

std::vector<PoolEvent> DynamicPool::trace() const {
  if (recorder_ == nullptr) return {};
  const std::lock_guard lock(recorder_->mutex);
  return recorder_->events;
}

}  // namespace berth
