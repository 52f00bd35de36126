#include "planner/schedule/realize.h"

#include <algorithm>
#include <array>
#include <set>

#include "npu_sim/timing.h"
#include "planner/bounds.h"
#include "planner/check_stop.h"
#include "planner/schedule/prefetch.h"

namespace berth {
namespace {

// Percent of the scratchpad that may be live when loads are hoisted; 0: no hoisting.
constexpr std::array<int64_t, 7> kHoistPercent = {94, 86, 76, 64, 50, 30, 0};
// Placements that are tried before loads are hoisted less everywhere.
constexpr int kHoistAttempts = 24;
// Commands around a place of failure where loads are hoisted less: more where that does not help.
constexpr int64_t kReach = 32, kMostReach = 512;
// Depths of prefetch that are tried in vain before the search for a better one ends.
constexpr int kWorseDepths = 2;

// Keeps hoisted loads away from where the placement failed: what was live there did fit in number,
// but not in places. `reach`: commands to each side.
void ReserveAround(const Shortage& shortage, const std::vector<uint32_t>& origin, int64_t reach,
                   std::vector<int64_t>& reserved_bytes) {
  reserved_bytes.resize(origin.size(), 0);
  const auto count = static_cast<int64_t>(origin.size());
  const int64_t begin = std::max<int64_t>(shortage.command - reach, 0);
  const int64_t end = std::min(shortage.command + reach, count);
  std::set<uint32_t> near;
  for (int64_t i = begin; i < end; ++i) near.insert(origin[static_cast<size_t>(i)]);
  for (const uint32_t command : near) reserved_bytes[command] += shortage.excess_bytes;
}

// The final program, and how long it takes.
absl::Status EmitAndTime(const Graph& graph, const NpuConfig& config, Schedule& schedule) {
  schedule.emitted =
      EmitProgram(graph, schedule.storage, schedule.lowered, schedule.scratchpad, config);
  BERTH_ASSIGN_OR_RETURN(const SimReport report,
                         SimulateTiming(schedule.emitted.program.view(), config));
  schedule.makespan_cycles = report.makespan_cycles;
  schedule.dram_cycles =
      PeakDramCycles(report.dram_read_bytes + report.dram_write_bytes, config.dram);
  return absl::OkStatus();
}

// The same program with its buffers in banks of their own where that is faster: what rests less
// makes wait elsewhere, so that only the clock tells.
absl::Status TryBanks(const ScheduleAttempt& attempt, Schedule& best) {
  Schedule apart = best;
  PlaceOptions place;
  place.double_buffer = attempt.options.double_buffer;
  place.only_rotate = true;
  place.apart_in_banks = true;
  BERTH_ASSIGN_OR_RETURN(apart.scratchpad, PlaceBuffers(apart.lowered, attempt.config, place));
  if (apart.scratchpad.shortage) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(EmitAndTime(attempt.graph, attempt.config, apart));
  if (apart.makespan_cycles < best.makespan_cycles) best = std::move(apart);
  return absl::OkStatus();
}

// The bound of the whole model: what is lowered says which constants are read.
void TellBound(const ScheduleAttempt& attempt, const Schedule& lowered) {
  if (!attempt.monitor.is_on()) return;
  const LoweredProgram& program = lowered.lowered;
  attempt.monitor.SetBound(ComputeLowerBounds(attempt.graph, program.commands, program.ops,
                                              attempt.config, program.constant_bytes)
                               .cycles);
}

}  // namespace

absl::StatusOr<Schedule> BeginSchedule(const Graph& graph, OnChipPlan on_chip,
                                       const ScheduleOptions& options) {
  Schedule schedule;
  schedule.on_chip = std::move(on_chip);
  BERTH_RETURN_IF_ERROR(VerifyOnChipPlan(graph, schedule.on_chip));
  StorageOptions storage = options.storage;
  storage.on_chip = &schedule.on_chip;
  schedule.storage = AssignStorage(graph, storage);
  BERTH_ASSIGN_OR_RETURN(
      schedule.pool,
      PlacePool(schedule.storage, {options.pool_budget_bytes, options.search, options.stop}));
  return schedule;
}

absl::StatusOr<Schedule> PlaceSchedule(const Schedule& lowered, const NpuConfig& config,
                                       const ScheduleOptions& options, int64_t limit_bytes) {
  PrefetchOptions prefetch;
  prefetch.hoist = limit_bytes > 0;
  prefetch.scratchpad_limit_bytes = limit_bytes;
  PlaceOptions place;
  place.double_buffer = options.double_buffer;
  place.only_rotate = prefetch.hoist;
  std::string failure;
  int64_t reach = kReach;
  uint32_t failed_before = 0;  // in the lowered order
  for (int attempt = 0; attempt < (prefetch.hoist ? kHoistAttempts : 1); ++attempt) {
    Schedule schedule = lowered;
    const std::vector<uint32_t> origin = HoistLoads(schedule.lowered, prefetch);
    BERTH_ASSIGN_OR_RETURN(schedule.scratchpad, PlaceBuffers(schedule.lowered, config, place));
    const std::optional<Shortage>& shortage = schedule.scratchpad.shortage;
    if (!shortage) return schedule;
    failure = shortage->text;
    if (shortage->space != MemorySpace::kScratchpad) break;
    const uint32_t failed = origin[static_cast<size_t>(shortage->command)];
    reach = attempt > 0 && failed == failed_before ? reach * 4 : kReach;
    if (reach > kMostReach) break;
    failed_before = failed;
    ReserveAround(*shortage, origin, reach, prefetch.reserved_bytes);
  }
  return ResourceExhausted("{}", failure);
}

absl::StatusOr<Schedule> LowerSchedule(const Graph& graph, const NpuConfig& config,
                                       const ScheduleOptions& options, Schedule begun,
                                       int64_t tile_percent) {
  LowerOptions lower_options;
  lower_options.command_limit = options.command_limit;
  lower_options.command_cycles = options.command_cycles;
  lower_options.tile_percent = tile_percent;
  lower_options.stop = options.stop;
  BERTH_ASSIGN_OR_RETURN(begun.lowered,
                         LowerGraph(graph, begun.storage, begun.on_chip, config, lower_options));
  return begun;
}

absl::StatusOr<Schedule> TryDepths(const ScheduleAttempt& attempt, const Schedule& lowered,
                                   ScheduleTrial trial, std::vector<ScheduleTrial>& trials) {
  const NpuConfig& config = attempt.config;
  const ScheduleOptions& options = attempt.options;
  absl::StatusOr<Schedule> best = ResourceExhausted("no depth of prefetch fits");
  size_t best_trial = 0;
  TellBound(attempt, lowered);
  const int most_worse = lowered.lowered.commands.size() > kLongProgram ? 1 : kWorseDepths;
  int worse = 0;
  for (const int64_t hoist_percent : kHoistPercent) {
    BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
    if (!options.hoist && hoist_percent != 0) continue;
    if (hoist_percent == 0 && best.ok()) break;
    trial.hoist_percent = static_cast<int32_t>(hoist_percent);
    trials.push_back(trial);
    absl::StatusOr<Schedule> schedule =
        PlaceSchedule(lowered, config, options, config.scratchpad.size_bytes * hoist_percent / 100);
    if (!schedule.ok()) {
      if (!absl::IsResourceExhausted(schedule.status())) return schedule;
      if (!best.ok()) best = std::move(schedule);
      continue;
    }
    BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
    BERTH_RETURN_IF_ERROR(EmitAndTime(attempt.graph, config, *schedule));
    trials.back().makespan_cycles = schedule->makespan_cycles;
    trials.back().dram_cycles = schedule->dram_cycles;
    attempt.monitor.AddTimed(schedule->makespan_cycles);
    if (!best.ok() || schedule->makespan_cycles < best->makespan_cycles) {
      best = std::move(schedule);
      best_trial = trials.size() - 1;
      worse = 0;
    } else if (++worse == most_worse) {
      break;
    }
    if (!options.search) break;
  }
  if (!best.ok()) return best;
  if (options.search) BERTH_RETURN_IF_ERROR(TryBanks(attempt, *best));
  trials[best_trial].is_chosen = true;
  trials[best_trial].makespan_cycles = best->makespan_cycles;
  return best;
}

}  // namespace berth
