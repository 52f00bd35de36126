#include "runtime/dynamic/specialization_cache.h"

#include <utility>

#include "base/no_memory.h"

namespace berth {
namespace {

constexpr std::chrono::microseconds kStopStep{500};  // how often a wait looks whether it is to stop

// Of its own, for another thread: ThreadSanitizer does not see how the packaged Abseil counts those
// who share a status.
SpecializationCache::Result CopyFor(const SpecializationCache::Result& result) {
  if (result.ok()) return result;
  return absl::Status(result.status().code(), result.status().message());
}

}  // namespace

std::shared_future<SpecializationCache::Result> SpecializationCache::FindOrBegin(
    const std::string& key, std::promise<Result>& promise) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    ages_.splice(ages_.begin(), ages_, found->second.age);
    ++reused_;
    return found->second.result;
  }
  std::list<std::string> age{key};  // spliced when nothing can fail any more
  entries_.try_emplace(key, Entry{promise.get_future().share(), 0, false, age.begin()});
  ages_.splice(ages_.begin(), age);
  return {};
}

SpecializationCache::Result SpecializationCache::GetOrMake(const std::string& key,
                                                           const StopConditions& stop,
                                                           const std::function<Result()>& make) {
  while (true) {
    std::promise<Result> promise;
    const std::shared_future<Result> others = FindOrBegin(key, promise);
    if (!others.valid()) {
      Result result = CatchNoMemory(make);
      Finish(key, result);
      promise.set_value(CopyFor(result));
      return result;
    }
    while (others.wait_for(kStopStep) != std::future_status::ready) {
      BERTH_RETURN_IF_ERROR(CheckStop(stop));
    }
    const Result& result = others.get();
    if (!IsStopped(result.status())) return CopyFor(result);
    BERTH_RETURN_IF_ERROR(CheckStop(stop));
  }
}

void SpecializationCache::Finish(const std::string& key, const Result& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(key);
  if (!result.ok()) {
    ages_.erase(entry->second.age);
    entries_.erase(entry);
    return;
  }
  entry->second.size_bytes = (*result)->size_bytes() + static_cast<int64_t>(2 * key.size());
  entry->second.is_made = true;
  cached_bytes_ += entry->second.size_bytes;
  ++made_;
  EvictLocked();
}

void SpecializationCache::Grow(const std::string& key, int64_t grown_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || !entry->second.is_made) return;
  entry->second.size_bytes += grown_bytes;
  cached_bytes_ += grown_bytes;
  EvictLocked();
}

// Those that are being made stay: others wait for them.
void SpecializationCache::EvictLocked() {
  for (auto age = ages_.end(); cached_bytes_ > budget_bytes_ && age != ages_.begin();) {
    --age;
    const auto entry = entries_.find(*age);
    if (!entry->second.is_made) continue;
    cached_bytes_ -= entry->second.size_bytes;
    ++evicted_;
    entries_.erase(entry);
    age = ages_.erase(age);
  }
}

void SpecializationCache::Describe(DynamicStatistics& statistics) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  statistics.specializations = made_;
  statistics.reused = reused_;
  statistics.evicted = evicted_;
  statistics.cached_bytes = cached_bytes_;
  statistics.cached = static_cast<int64_t>(entries_.size());
}

}  // namespace berth
