// `berth inspect --timeline`: when each value's bytes are needed, and how many are needed at each
// op.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/inspect_plan.h"

namespace berth {

// Bytes of the pool's slots that each op needs: a slot counts once, however many values share it.
struct PoolLoad {
  std::vector<int64_t> live_bytes;  // per op
  int64_t peak_bytes = 0;
  uint32_t peak_op = 0;  // the first with the peak
};
PoolLoad MeasurePoolLoad(const InspectedPlan& plan);

// One line per value with a bar over the ops, and a last line with the load; FailedPrecondition for
// a bundle without a table of values (older ones).
absl::StatusOr<std::string> TimelineText(const InspectedPlan& plan);
absl::StatusOr<nlohmann::ordered_json> TimelineJson(const InspectedPlan& plan);

}  // namespace berth
