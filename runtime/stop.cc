#include "berth/stop.h"

namespace berth {

absl::Status CheckStop(const StopConditions& stop) {
  if (stop.cancel != nullptr && stop.cancel->load(std::memory_order_relaxed)) {
    return Cancelled("the run was cancelled");
  }
  if (stop.deadline && std::chrono::steady_clock::now() >= *stop.deadline) {
    return DeadlineExceeded("the run's deadline has passed");
  }
  return absl::OkStatus();
}

}  // namespace berth
