// What stops a run, a compilation or a wait for memory early.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace berth {

struct StopConditions {
  const std::atomic<bool>* cancel = nullptr;  // once it is set, from any thread
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// True where it is to stop now. Reads the clock only where there is a deadline.
bool ShouldStop(const StopConditions& stop);

// Cancelled or DeadlineExceeded where it is to stop now; `what` is stopped.
absl::Status CheckStop(const StopConditions& stop, std::string_view what = "run");

// What CheckStop returned.
inline bool IsStopped(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace berth
