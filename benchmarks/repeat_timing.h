// Wall time of work that is done again and again: machines are noisy, so the best stands beside the
// median.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace berth {

struct Times {
  double best_us = 0, median_us = 0;
};

inline Times Measure(int repeats, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const Clock::time_point begin = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return {times[0], times[times.size() / 2]};
}

}  // namespace berth
