#include "tools/pool_replay.h"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "runtime/pool/dynamic_pool.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

// An event with a slot in place of an id: as many slots as allocations live at once.
struct Step {
  int64_t size_bytes = 0;  // of an allocation
  int64_t alignment = 0;   // 0: a free
  uint32_t slot = 0;
};

struct Steps {
  std::vector<Step> steps;
  uint32_t slots = 0;
  int64_t allocations = 0;
  int64_t peak_live_bytes = 0;  // as asked for
};

Steps Compile(const std::vector<PoolEvent>& trace) {
  struct Live {
    uint32_t slot = 0;
    int64_t size_bytes = 0;
  };
  Steps compiled;
  absl::flat_hash_map<int64_t, Live> live;
  std::vector<uint32_t> unused;
  int64_t live_bytes = 0;
  for (const PoolEvent& event : trace) {
    if (event.kind == PoolEvent::Kind::kFree) {
      const Live gone = live[event.id];
      live.erase(event.id);
      unused.push_back(gone.slot);
      live_bytes -= gone.size_bytes;
      compiled.steps.push_back({.slot = gone.slot});
      continue;
    }
    uint32_t slot = compiled.slots;
    if (unused.empty()) {
      ++compiled.slots;
    } else {
      slot = unused.back();
      unused.pop_back();
    }
    live[event.id] = {slot, event.size_bytes};
    live_bytes += event.size_bytes;
    compiled.peak_live_bytes = std::max(compiled.peak_live_bytes, live_bytes);
    ++compiled.allocations;
    compiled.steps.push_back({event.size_bytes, event.alignment, slot});
  }
  return compiled;
}

// Each of the two below holds what one thread has live.
class PoolSide {
 public:
  PoolSide(DynamicPool& pool, uint32_t slots)
      : pool_(pool), lane_(pool.AssignLane()), blocks_(slots) {}
  bool Allocate(const Step& step) {
    auto block = pool_.Allocate(step.size_bytes, step.alignment, lane_);
    if (!block.ok()) {
      status_ = block.status();
      return false;
    }
    blocks_[step.slot] = *block;
    return true;
  }
  void Free(const Step& step) { status_ = pool_.Free(std::exchange(blocks_[step.slot], {})); }
  void FreeAll() {
    for (PoolBlock& block : blocks_) {
      if (block.size_bytes > 0) status_ = pool_.Free(std::exchange(block, {}));
    }
  }
  std::byte* data(uint32_t slot) const { return pool_.data(blocks_[slot]); }
  const absl::Status& status() const { return status_; }

 private:
  DynamicPool& pool_;
  int lane_;
  std::vector<PoolBlock> blocks_;
  absl::Status status_;
};

// Asks for no alignment, which is in its favour.
class MallocSide {
 public:
  explicit MallocSide(uint32_t slots) : blocks_(slots) {}
  bool Allocate(const Step& step) {
    blocks_[step.slot] = std::malloc(static_cast<size_t>(step.size_bytes));
    if (blocks_[step.slot] != nullptr || step.size_bytes == 0) return true;
    status_ = ResourceExhausted("malloc: {} bytes needed", step.size_bytes);
    return false;
  }
  void Free(const Step& step) { std::free(std::exchange(blocks_[step.slot], nullptr)); }
  void FreeAll() {
    for (void*& block : blocks_) std::free(std::exchange(block, nullptr));
  }
  std::byte* data(uint32_t slot) const { return static_cast<std::byte*>(blocks_[slot]); }
  const absl::Status& status() const { return status_; }

 private:
  std::vector<void*> blocks_;
  absl::Status status_;
};

template <typename Side>
void Replay(const Steps& compiled, Side& side) {
  for (const Step& step : compiled.steps) {
    if (step.alignment == 0) {
      side.Free(step);
    } else if (!side.Allocate(step)) {
      return;
    }
  }
  side.FreeAll();
}

PairTime Summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front()};
}

// `make_side()` is called by each thread. The first replay warms up and does not count.
template <typename MakeSide>
absl::StatusOr<PairTime> TimePairs(const Steps& compiled, int threads, int repeats,
                                   MakeSide make_side) {
  std::vector<double> pair_ns;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    std::vector<absl::Status> statuses(static_cast<size_t>(threads));
    std::vector<double> seconds(static_cast<size_t>(threads));
    std::barrier start(threads);
    const auto work = [&](size_t i) {
      auto side = make_side();
      start.arrive_and_wait();
      const Stopwatch watch;
      Replay(compiled, side);
      seconds[i] = watch.Seconds();
      statuses[i] = side.status();
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < statuses.size(); ++i) others.emplace_back(work, i);
    work(0);
    for (std::thread& other : others) other.join();
    for (const absl::Status& status : statuses) BERTH_RETURN_IF_ERROR(status);
    const double slowest = *std::max_element(seconds.begin(), seconds.end());
    if (repeat > 0) pair_ns.push_back(slowest * 1e9 / static_cast<double>(compiled.allocations));
  }
  return Summarize(std::move(pair_ns));
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0, resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

// Writes to every page of every block. Returns the most that was resident while `live` was near
// its peak, over what was resident before.
template <typename Side>
int64_t ResidentPeak(const Steps& compiled, Side& side) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const int64_t near_peak_bytes = compiled.peak_live_bytes - compiled.peak_live_bytes / 10;
  const int64_t before_bytes = ResidentBytes();
  std::vector<int64_t> sizes(compiled.slots);
  int64_t live_bytes = 0, peak_bytes = 0;
  for (const Step& step : compiled.steps) {
    if (step.alignment == 0) {
      side.Free(step);
      live_bytes -= sizes[step.slot];
      continue;
    }
    if (!side.Allocate(step)) return 0;
    volatile std::byte* data = side.data(step.slot);
    for (int64_t at = 0; at < step.size_bytes; at += page_bytes) data[at] = std::byte{1};
    sizes[step.slot] = step.size_bytes;
    live_bytes += step.size_bytes;
    if (live_bytes >= near_peak_bytes) peak_bytes = std::max(peak_bytes, ResidentBytes());
  }
  side.FreeAll();
  return std::max<int64_t>(0, peak_bytes - before_bytes);
}

// Live and reserved after Trim at the peak.
absl::Status MeasureTrim(const Steps& compiled, const DynamicPoolOptions& options,
                         PoolReplayMemory& memory) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<DynamicPool> pool, DynamicPool::Create(options));
  PoolSide side(*pool, compiled.slots);
  for (const Step& step : compiled.steps) {
    if (step.alignment == 0) {
      side.Free(step);
    } else if (!side.Allocate(step)) {
      return side.status();
    }
    if (pool->statistics().live_bytes >= memory.peak_live_bytes) break;
  }
  pool->Trim();
  const DynamicPoolStatistics trimmed = pool->statistics();
  memory.trimmed_live_bytes = trimmed.live_bytes;
  memory.trimmed_reserved_bytes = trimmed.reserved_bytes;
  side.FreeAll();
  pool->Trim();
  memory.end_reserved_bytes = pool->statistics().reserved_bytes;
  return side.status();
}

}  // namespace

absl::StatusOr<PoolReplayTimes> TimePoolReplay(const std::vector<PoolEvent>& trace, int threads,
                                               const PoolReplayOptions& options) {
  const Steps compiled = Compile(trace);
  PoolReplayTimes times{.threads = threads};
  if (compiled.allocations == 0) return times;
  BERTH_ASSIGN_OR_RETURN(
      const std::unique_ptr<DynamicPool> pool,
      DynamicPool::Create({.limit_bytes = options.limit_bytes, .lanes = threads}));
  BERTH_ASSIGN_OR_RETURN(times.pool, TimePairs(compiled, threads, options.repeats,
                                               [&] { return PoolSide(*pool, compiled.slots); }));
  BERTH_ASSIGN_OR_RETURN(times.malloc, TimePairs(compiled, threads, options.repeats,
                                                 [&] { return MallocSide(compiled.slots); }));
  return times;
}

absl::StatusOr<PoolReplayMemory> MeasurePoolReplay(const std::vector<PoolEvent>& trace,
                                                   const PoolReplayOptions& options) {
  const Steps compiled = Compile(trace);
  const DynamicPoolOptions pool_options = {.limit_bytes = options.limit_bytes, .lanes = 1};
  PoolReplayMemory memory;
  {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<DynamicPool> pool,
                           DynamicPool::Create(pool_options));
    PoolSide side(*pool, compiled.slots);
    memory.pool_resident_bytes = ResidentPeak(compiled, side);
    BERTH_RETURN_IF_ERROR(side.status());
    const DynamicPoolStatistics statistics = pool->statistics();
    memory.peak_live_bytes = statistics.peak_live_bytes;
    memory.peak_reserved_bytes = statistics.peak_reserved_bytes;
  }
  BERTH_RETURN_IF_ERROR(MeasureTrim(compiled, pool_options, memory));
  MallocSide side(compiled.slots);
  memory.malloc_resident_bytes = ResidentPeak(compiled, side);
  BERTH_RETURN_IF_ERROR(side.status());
  return memory;
}

}  // namespace berth
