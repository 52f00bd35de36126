// Lets helpers into a run while it lasts. Those who come too late do nothing: the run does not wait
// for threads that it does not need, and so never holds memory while it waits for one.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace berth {

class HelperGate {
 public:
  // A new run, whose number helpers give when they come. What was written before is seen by them.
  uint64_t Open() {
    const uint64_t number = (state_.load(std::memory_order_relaxed) >> kNumberShift) + 1;
    state_.store(number << kNumberShift | kOpen, std::memory_order_release);
    return number;
  }
  bool Enter(uint64_t number) {
    uint64_t state = state_.load(std::memory_order_relaxed);
    do {
      if (state >> kNumberShift != number || (state & kOpen) == 0) return false;
    } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire));
    return true;
  }
  void Leave() { state_.fetch_sub(1, std::memory_order_release); }
  // Nobody comes in any more; until those inside have left.
  void Close() {
    state_.fetch_and(~kOpen, std::memory_order_relaxed);
    while ((state_.load(std::memory_order_acquire) & kInside) != 0) std::this_thread::yield();
  }

 private:
  static constexpr uint64_t kInside = 0xffff, kOpen = 1 << 16;
  static constexpr int kNumberShift = 17;
  std::atomic<uint64_t> state_{0};  // number of the run, open or not, how many are inside
};

}  // namespace berth
