// How a compilation is stopped before its end, from any thread.
#pragma once

#include <atomic>

#include "base/status.h"

namespace berth {

inline bool IsCancelled(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

// Cancelled where it is to stop now; `cancel` may be null.
inline absl::Status CheckCancelled(const std::atomic<bool>* cancel) {
  if (IsCancelled(cancel)) return Cancelled("the compilation was cancelled");
  return absl::OkStatus();
}

}  // namespace berth
