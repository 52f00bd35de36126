// When the host did what: one span for each part of a command, for traces. Recording costs two
// reads of the clock a part; results do not depend on it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace berth {

struct HostSpan {
  uint32_t command = 0;
  uint16_t part = 0;
  uint16_t worker = 0;
  int64_t begin_ns = 0, end_ns = 0;  // since the timeline began
};

// Filled by one run at a time; workers write entries of their own.
class HostTimeline {
 public:
  // Forgets what it holds and begins anew, with room for `parts` spans.
  void Begin(int64_t parts) {
    spans_.assign(static_cast<size_t>(parts), {});
    used_.store(0, std::memory_order_relaxed);
    start_ = std::chrono::steady_clock::now();
  }
  int64_t Now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                start_)
        .count();
  }
  void Add(const HostSpan& span) {
    const size_t at = used_.fetch_add(1, std::memory_order_relaxed);
    if (at < spans_.size()) spans_[at] = span;
  }
  // After the run.
  const std::vector<HostSpan>& Finish() {
    spans_.resize(std::min(spans_.size(), used_.load(std::memory_order_relaxed)));
    return spans_;
  }

 private:
  std::vector<HostSpan> spans_;
  std::atomic<size_t> used_{0};
  std::chrono::steady_clock::time_point start_;
};

}  // namespace berth
