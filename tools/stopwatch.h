// Wall time on this host since the watch was made.
#pragma once

#include <chrono>

namespace berth {

class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double Milliseconds() const { return Seconds() * 1e3; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace berth
