#include "planner/schedule/search_monitor.h"

#include <algorithm>

namespace berth {

void SearchMonitor::SetWork(size_t search, int64_t work_units, int64_t limit_units) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  works_.resize(std::max(works_.size(), search + 1));
  works_[search] = {work_units, limit_units};
  progress_.stage = ScheduleStage::kResidency;
  progress_.work_units = progress_.work_limit_units = 0;
  for (const Work& work : works_) {
    progress_.work_units += work.units;
    progress_.work_limit_units += work.limit_units;
  }
  tell_(progress_);
}

void SearchMonitor::SetBound(int64_t lower_bound_cycles) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  progress_.lower_bound_cycles = lower_bound_cycles;
  progress_.stage = ScheduleStage::kPlacement;
  tell_(progress_);
}

void SearchMonitor::AddTimed(int64_t makespan_cycles) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  const int64_t best = progress_.best_cycles;
  progress_.best_cycles = best == 0 ? makespan_cycles : std::min(best, makespan_cycles);
  progress_.stage = ScheduleStage::kPlacement;
  ++progress_.timed_plans;
  tell_(progress_);
}

}  // namespace berth
