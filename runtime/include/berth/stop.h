// What stops a run, or a wait for memory, early.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "base/status.h"

namespace berth {

struct StopConditions {
  const std::atomic<bool>* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// Cancelled or DeadlineExceeded where it is to stop now. Reads the clock only where there is a
// deadline.
absl::Status CheckStop(const StopConditions& stop);

}  // namespace berth
