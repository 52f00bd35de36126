// Specializations by key within a budget of bytes, the least recently used given up first.
// Thread-safe; several threads that want the same new one wait for the first of them to make it.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "base/stop.h"
#include "runtime/dynamic/specialization.h"

namespace berth {

class SpecializationCache {
 public:
  using Result = absl::StatusOr<std::shared_ptr<Specialization>>;

  explicit SpecializationCache(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  // The one of `key`, made by `make` where there is none. Failures are not kept. `stop` ends a wait
  // for another thread; that the other one was stopped does not.
  Result GetOrMake(const std::string& key, const StopConditions& stop,
                   const std::function<Result()>& make);
  // Takes the changed size of a specialization into account.
  void Grow(const std::string& key, int64_t grown_bytes);
  // Fills the figures of a cache: all but the pool's and `planned`.
  void Describe(DynamicStatistics& statistics) const;

 private:
  struct Entry {
    std::shared_future<Result> result;
    int64_t size_bytes = 0;  // 0 while it is made
    bool is_made = false;
    std::list<std::string>::iterator age;
  };
  // What another thread has made or makes; else valid until `promise` is kept, and Finish is
  // called.
  std::shared_future<Result> FindOrBegin(const std::string& key, std::promise<Result>& promise);
  void Finish(const std::string& key, const Result& result);
  void EvictLocked();

  const int64_t budget_bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::list<std::string> ages_;  // keys, the most recently used first
  int64_t cached_bytes_ = 0, made_ = 0, reused_ = 0, evicted_ = 0;
};

}  // namespace berth
