// How dynamic bundles run on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "berth/dynamic.h"

namespace berth {

struct DynamicFlags {
  int64_t cache_bytes = DynamicOptions{}.cache_bytes;
  int64_t pool_limit_bytes = 0;
  int64_t step_limit = DynamicOptions{}.step_limit;
  int plan_after = 0;  // runs of a shape; 0: never
  bool wait_for_plans = false;
};

void AddDynamicFlags(CLI::App& command, DynamicFlags& flags);
// With the planner's lowerings.
DynamicOptions ToDynamicOptions(const DynamicFlags& flags);

}  // namespace berth
