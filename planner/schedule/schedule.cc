#include "planner/schedule/schedule.h"

#include <array>

#include "base/checked_math.h"
#include "planner/schedule/prefetch.h"

namespace berth {
namespace {

// Percent of the scratchpad that one tile's buffers may take: below half, so that the next tile's
// fit beside them; less where fragmentation or long-lived buffers leave less.
constexpr std::array<int64_t, 4> kTilePercent = {45, 30, 18, 8};
// Percent of the scratchpad that may be live when loads are hoisted; 0: no hoisting.
constexpr std::array<int64_t, 4> kHoistPercent = {92, 75, 55, 0};
constexpr int64_t kLargestScratchpadBytes = int64_t{1} << 30;
constexpr int64_t kSearchStepBytes = 1024;
// A search for the smallest scratchpad looks at programs up to this long only, so that it ends
// soon.
constexpr size_t kSearchCommandLimit = 60000;

absl::StatusOr<Schedule> TryTiles(const Graph& graph, const StoragePlan& storage,
                                  const NpuConfig& config, const ScheduleOptions& options,
                                  int64_t tile_percent) {
  LowerOptions lower_options;
  lower_options.command_limit = options.command_limit;
  lower_options.scratchpad_budget_bytes = config.scratchpad.size_bytes * tile_percent / 100;
  lower_options.scratchpad_limit_bytes = config.scratchpad.size_bytes;
  lower_options.accumulator_budget_bytes = config.accumulator.size_bytes / 2;
  lower_options.accumulator_limit_bytes = config.accumulator.size_bytes;
  BERTH_ASSIGN_OR_RETURN(const LoweredProgram lowered,
                         LowerGraph(graph, storage, config, lower_options));
  absl::Status failure;
  for (const int64_t hoist_percent : kHoistPercent) {
    if (!options.hoist && hoist_percent != 0) continue;
    Schedule schedule;
    schedule.lowered = lowered;
    schedule.tile_budget_bytes = lower_options.scratchpad_budget_bytes;
    schedule.hoist_limit_bytes = config.scratchpad.size_bytes * hoist_percent / 100;
    PrefetchOptions prefetch;
    prefetch.hoist = hoist_percent != 0;
    prefetch.scratchpad_limit_bytes = schedule.hoist_limit_bytes;
    HoistLoads(schedule.lowered, prefetch);
    PlaceOptions place;
    place.double_buffer = options.double_buffer;
    absl::StatusOr<ScratchpadPlan> plan = PlaceBuffers(schedule.lowered, config, place);
    if (plan.ok()) {
      schedule.scratchpad = *std::move(plan);
      return schedule;
    }
    if (!absl::IsResourceExhausted(plan.status())) return plan.status();
    failure = plan.status();
  }
  return failure;
}

absl::StatusOr<Schedule> TryAllTiles(const Graph& graph, const StoragePlan& storage,
                                     const NpuConfig& config, const ScheduleOptions& options) {
  absl::Status failure;
  for (const int64_t tile_percent : kTilePercent) {
    absl::StatusOr<Schedule> schedule = TryTiles(graph, storage, config, options, tile_percent);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
    failure = schedule.status();
  }
  return failure;
}

// The smallest scratchpad, to kSearchStepBytes, for which a schedule is found.
std::optional<int64_t> SmallestScratchpad(const Graph& graph, const StoragePlan& storage,
                                          NpuConfig config, ScheduleOptions options) {
  options.hoist = false;
  options.command_limit = kSearchCommandLimit;
  const auto fits = [&](int64_t size_bytes) {
    config.scratchpad.size_bytes = size_bytes;
    return TryAllTiles(graph, storage, config, options).ok();
  };
  int64_t too_small = config.scratchpad.size_bytes, enough = too_small;
  do {
    if (enough >= kLargestScratchpadBytes) return std::nullopt;
    too_small = enough;
    enough = AlignUp(enough * 2, kSearchStepBytes);
  } while (!fits(enough));
  while (enough - too_small > kSearchStepBytes) {
    const int64_t middle = AlignUp(too_small + (enough - too_small) / 2, kSearchStepBytes);
    if (middle >= enough) break;
    (fits(middle) ? enough : too_small) = middle;
  }
  return enough;
}

}  // namespace

absl::StatusOr<Schedule> ScheduleProgram(const Graph& graph, const StoragePlan& storage,
                                         const NpuConfig& config, const ScheduleOptions& options) {
  absl::StatusOr<Schedule> schedule = TryAllTiles(graph, storage, config, options);
  if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
  const std::optional<int64_t> smallest = SmallestScratchpad(graph, storage, config, options);
  const std::string advice =
      smallest ? fmt::format("a scratchpad of {} bytes would do, in up to {} commands", *smallest,
                             kSearchCommandLimit)
               : fmt::format("no scratchpad up to {} bytes would do with {} bytes of accumulators",
                             kLargestScratchpadBytes, config.accumulator.size_bytes);
  return ResourceExhausted("target '{}' with a scratchpad of {} bytes: {}; {}", config.name,
                           config.scratchpad.size_bytes, ToStd(schedule.status().message()),
                           advice);
}

}  // namespace berth
