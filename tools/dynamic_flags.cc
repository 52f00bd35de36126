#include "tools/dynamic_flags.h"

#include "kernels/reference/reference.h"
#include "planner/lower_shape.h"

namespace berth {

void AddDynamicFlags(CLI::App& command, DynamicFlags& flags) {
  command
      .add_option("--cache-bytes", flags.cache_bytes,
                  "Dynamic bundles: what programs of shapes seen before may take")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--pool-limit", flags.pool_limit_bytes,
                  "Dynamic bundles: most bytes of the pool; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--step-limit", flags.step_limit,
                  "Dynamic bundles: programs, ops on the host and iterations of one run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--plan-after", flags.plan_after,
                  "Dynamic bundles: plan a shape in the background once it came so often; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--wait-for-plans", flags.wait_for_plans,
                   "After each run wait until what --plan-after began is planned");
}

DynamicOptions ToDynamicOptions(const DynamicFlags& flags) {
  DynamicOptions options;
  options.lower = MakeFastLowering(EvaluateNode);
  if (flags.plan_after > 0) options.plan = MakeFullLowering(EvaluateNode);
  options.hot_runs = flags.plan_after;
  options.cache_bytes = flags.cache_bytes;
  options.pool_limit_bytes = flags.pool_limit_bytes;
  options.step_limit = flags.step_limit;
  return options;
}

}  // namespace berth
