// How far the search for a schedule is, for whoever shows it.
#pragma once

#include <cstdint>

namespace berth {

enum class ScheduleStage : uint8_t {
  kResidency,  // the search for what stays on chip
  kPlacement,  // plans are placed, emitted and timed
};
// How far the search is.
struct ScheduleProgress {
  ScheduleStage stage = ScheduleStage::kResidency;
  int64_t work_units = 0, work_limit_units = 0;     // of all searches for what stays on chip
  int64_t timed_plans = 0;                          // so far
  int64_t best_cycles = 0, lower_bound_cycles = 0;  // 0: not known yet
};

}  // namespace berth
