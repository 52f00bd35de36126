#include "base/stop.h"

namespace berth {
namespace {

bool IsCancelled(const StopConditions& stop) {
  return stop.cancel != nullptr && stop.cancel->load(std::memory_order_relaxed);
}

bool IsLate(const StopConditions& stop) {
  return stop.deadline && std::chrono::steady_clock::now() >= *stop.deadline;
}

}  // namespace

bool ShouldStop(const StopConditions& stop) { return IsCancelled(stop) || IsLate(stop); }

absl::Status CheckStop(const StopConditions& stop, std::string_view what) {
  if (IsCancelled(stop)) return Cancelled("the {} was cancelled", what);
  if (IsLate(stop)) return DeadlineExceeded("the {}'s deadline has passed", what);
  return absl::OkStatus();
}

}  // namespace berth
