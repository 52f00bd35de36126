// The lowest plan found so far, and what found it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/pool/trial.h"

namespace berth {

struct Incumbent {
  int64_t height_bytes = kUnlimitedBytes;
  std::vector<int64_t> offset_bytes;  // by block; empty while there is none
  std::string method;

  std::function<void(int64_t height_bytes)> on_better;  // may be empty

  // Takes the trial's plan if it is complete and lower.
  bool Offer(Trial trial, std::string_view trial_method) {
    if (!trial.is_complete || trial.height_bytes >= height_bytes) return false;
    height_bytes = trial.height_bytes;
    offset_bytes = std::move(trial.offset_bytes);
    method = trial_method;
    if (on_better) on_better(height_bytes);
    return true;
  }
  // Takes the other's plan if it is lower.
  void Take(Incumbent other) {
    if (other.height_bytes >= height_bytes) return;
    height_bytes = other.height_bytes;
    offset_bytes = std::move(other.offset_bytes);
    method = std::move(other.method);
    if (on_better) on_better(height_bytes);
  }
};

}  // namespace berth
