// Whether a compilation is to stop before its end.
#pragma once

#include "base/stop.h"

namespace berth {

// Cancelled or DeadlineExceeded where it is to stop now.
inline absl::Status CheckCompilation(const StopConditions& stop) {
  return CheckStop(stop, "compilation");
}

}  // namespace berth
