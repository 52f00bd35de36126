// Gathers how far the search for a schedule is from its threads, and tells whoever asked.
#pragma once

#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "planner/schedule/schedule.h"

namespace berth {

class SearchMonitor {
 public:
  // `tell` is called by one thread at a time; null: nothing is told.
  explicit SearchMonitor(const std::function<void(const ScheduleProgress&)>& tell) : tell_(tell) {}

  bool is_on() const { return tell_ != nullptr; }

  // How far one of the searches for what stays on chip is; numbered from 0.
  void SetWork(size_t search, int64_t work_units, int64_t limit_units);
  void SetBound(int64_t lower_bound_cycles);
  // A whole plan was timed.
  void AddTimed(int64_t makespan_cycles);

 private:
  struct Work {
    int64_t units = 0, limit_units = 0;
  };

  const std::function<void(const ScheduleProgress&)>& tell_;
  std::mutex mutex_;
  ScheduleProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::vector<Work> works_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth
