// The budget of a search, in units of work instead of seconds, so that a plan is reproducible.
//
// One unit is one visit of a candidate in an inner loop (about 3 ns). A caller's stop signal (a
// time limit, a cancelled request) may end the search early; then the result depends on when.
#pragma once

#include <cstdint>
#include <functional>

namespace berth {

struct WorkBudget {
  int64_t limit_units = 0;
  std::function<bool()> should_stop;  // may be empty
  int64_t spent_units = 0;
  bool was_stopped = false;

  void Spend(int64_t units) { spent_units += units; }
  int64_t LeftUnits() const { return was_stopped ? 0 : limit_units - spent_units; }
  // Asks the stop signal: call it between trials, not in inner loops.
  bool IsStopped() {
    was_stopped = was_stopped || (should_stop && should_stop());
    return was_stopped;
  }
  bool IsExhausted() { return IsStopped() || LeftUnits() <= 0; }
};

}  // namespace berth
