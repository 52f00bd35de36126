#include "planner/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <future>
#include <set>

#include "base/checked_math.h"
#include "npu_sim/timing.h"
#include "planner/order/local_order.h"
#include "planner/schedule/prefetch.h"
#include "planner/schedule/residency.h"

namespace berth {
namespace {

// Percent of the scratchpad that one tile's buffers may take: below half, so that the next tile's
// fit beside them; less where fragmentation or long-lived buffers leave less.
constexpr std::array<int64_t, 4> kTilePercent = {45, 30, 18, 8};
// Percent of the scratchpad that a segment may have live, before loads are hoisted; less where the
// placement needs more room.
constexpr std::array<int64_t, 4> kResidencyPercent = {92, 80, 65, 45};
// Percent of the scratchpad that may be live when loads are hoisted; 0: no hoisting.
constexpr std::array<int64_t, 7> kHoistPercent = {94, 86, 76, 64, 50, 30, 0};
// Placements that are tried before loads are hoisted less everywhere.
constexpr int kHoistAttempts = 24;
// Commands around a place of failure where loads are hoisted less: more where that does not help.
constexpr int64_t kReach = 32, kMostReach = 512;
// Depths of prefetch that are tried in vain before the search for a better one ends.
constexpr int kWorseDepths = 2;
// Programs of more commands take seconds to place and time again and again: fewer depths and plans
// are tried.
constexpr size_t kLongProgram = 6000;
constexpr int64_t kLargestScratchpadBytes = int64_t{1} << 30;
constexpr int64_t kSearchStepBytes = 1024;
// A search for the smallest scratchpad looks at programs up to this long only, so that it ends
// soon.
constexpr size_t kSearchCommandLimit = 60000;

// Storage and pool with a plan of what is on chip.
absl::StatusOr<Schedule> Begin(const Graph& graph, OnChipPlan on_chip,
                               const ScheduleOptions& options) {
  Schedule schedule;
  schedule.on_chip = std::move(on_chip);
  BERTH_RETURN_IF_ERROR(VerifyOnChipPlan(graph, schedule.on_chip));
  StorageOptions storage = options.storage;
  storage.on_chip = &schedule.on_chip;
  schedule.storage = AssignStorage(graph, storage);
  BERTH_ASSIGN_OR_RETURN(schedule.pool, PlacePool(schedule.storage, options.pool_budget_bytes));
  return schedule;
}

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

// Loads hoisted as far as `limit_bytes` goes, and every buffer placed.
absl::StatusOr<Schedule> Place(const Schedule& lowered, const NpuConfig& config,
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

absl::StatusOr<Schedule> Lower(const Graph& graph, const NpuConfig& config,
                               const ScheduleOptions& options, Schedule begun,
                               int64_t tile_percent) {
  LowerOptions lower_options;
  lower_options.command_limit = options.command_limit;
  lower_options.tile_percent = tile_percent;
  BERTH_ASSIGN_OR_RETURN(begun.lowered,
                         LowerGraph(graph, begun.storage, begun.on_chip, config, lower_options));
  return begun;
}

// The fastest of several depths of prefetch: the deepest has the bytes change hands the soonest.
absl::StatusOr<Schedule> TryDepths(const Graph& graph, const NpuConfig& config,
                                   const ScheduleOptions& options, const Schedule& lowered) {
  absl::StatusOr<Schedule> best = ResourceExhausted("no depth of prefetch fits");
  const int most_worse = lowered.lowered.commands.size() > kLongProgram ? 1 : kWorseDepths;
  int worse = 0;
  for (const int64_t hoist_percent : kHoistPercent) {
    if (!options.hoist && hoist_percent != 0) continue;
    if (hoist_percent == 0 && best.ok()) break;
    absl::StatusOr<Schedule> schedule =
        Place(lowered, config, options, config.scratchpad.size_bytes * hoist_percent / 100);
    if (!schedule.ok()) {
      if (!absl::IsResourceExhausted(schedule.status())) return schedule;
      if (!best.ok()) best = std::move(schedule);
      continue;
    }
    BERTH_RETURN_IF_ERROR(EmitAndTime(graph, config, *schedule));
    if (!best.ok() || schedule->makespan_cycles < best->makespan_cycles) {
      best = std::move(schedule);
      worse = 0;
    } else if (++worse == most_worse) {
      break;
    }
    if (!options.search) break;
  }
  return best;
}

absl::StatusOr<Schedule> TryAllTiles(const Graph& graph, const NpuConfig& config,
                                     const ScheduleOptions& options, const Schedule& begun) {
  absl::Status failure;
  for (const int64_t tile_percent : kTilePercent) {
    absl::StatusOr<Schedule> schedule = Lower(graph, config, options, begun, tile_percent);
    if (schedule.ok()) schedule = TryDepths(graph, config, options, *schedule);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
    failure = schedule.status();
  }
  return failure;
}

absl::StatusOr<Schedule> WithNothingOnChip(const Graph& graph, const NpuConfig& config,
                                           const ScheduleOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const Schedule begun, Begin(graph, NothingOnChip(graph), options));
  return TryAllTiles(graph, config, options, begun);
}

// Plans of what is on chip, in an order of ops.
struct Residency {
  Graph graph;
  bool is_reordered = false;
  std::vector<ResidencyResult> planned;
};

bool HasSameOrder(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const Node& x, const Node& y) { return x.outputs == y.outputs; });
}

// What to try: only the placement tells whether bands of rows without spare room make wait.
std::vector<ResidencyResult> PlanBothBeliefs(const Graph& graph, const NpuConfig& config,
                                             const ScheduleOptions& options,
                                             int64_t limit_percent) {
  ResidencyOptions residency;
  residency.resident = options.resident;
  residency.stripes = options.stripes;
  residency.limit_bytes = config.scratchpad.size_bytes * limit_percent / 100;
  if (!options.search) {
    residency.beam = 1;
    residency.all_manners = false;
  }
  ResidencyPlanner planner(graph, options.storage, config, kTilePercent[0]);
  std::vector<ResidencyResult> planned = {planner.Plan(residency)};
  if (!options.search) return planned;
  residency.bands_spread = true;
  planned.push_back(planner.Plan(residency));
  if (planned[0].plan == planned[1].plan) planned.pop_back();
  return planned;
}

// The order that the graph came with, of the lowest peak, and one that keeps readers near.
std::vector<Residency> PlanBothOrders(const Graph& graph, const NpuConfig& config,
                                      const ScheduleOptions& options, int64_t limit_percent) {
  std::vector<Residency> orders = {{graph, false, {}}, {graph, true, {}}};
  OrderLocally(orders[1].graph);
  const auto plan = [&](Residency& order) {
    order.planned = PlanBothBeliefs(order.graph, config, options, limit_percent);
  };
  if (!options.reorder || HasSameOrder(graph, orders[1].graph)) {
    orders.pop_back();
    plan(orders[0]);
    return orders;
  }
  std::future<void> other = std::async(std::launch::async, [&] { plan(orders[1]); });
  plan(orders[0]);
  other.get();
  return orders;
}

struct Candidate {
  const Residency* order = nullptr;
  const ResidencyResult* planned = nullptr;
};

absl::StatusOr<Schedule> Realize(const Candidate& candidate, const NpuConfig& config,
                                 const ScheduleOptions& options) {
  const Graph& graph = candidate.order->graph;
  BERTH_ASSIGN_OR_RETURN(const Schedule begun, Begin(graph, candidate.planned->plan, options));
  BERTH_ASSIGN_OR_RETURN(const Schedule lowered,
                         Lower(graph, config, options, begun, kTilePercent[0]));
  absl::StatusOr<Schedule> schedule = TryDepths(graph, config, options, lowered);
  if (schedule.ok()) schedule->is_reordered = candidate.order->is_reordered;
  return schedule;
}

// All plans of all orders, those of the order that promises most first.
std::vector<Candidate> CandidatesOf(const std::vector<Residency>& orders) {
  std::vector<const Residency*> by_promise;
  for (const Residency& order : orders) by_promise.push_back(&order);
  std::stable_sort(by_promise.begin(), by_promise.end(),
                   [](const Residency* a, const Residency* b) {
                     return a->planned[0].cost < b->planned[0].cost;
                   });
  std::vector<Candidate> candidates;
  for (const Residency* order : by_promise) {
    for (const ResidencyResult& planned : order->planned) candidates.push_back({order, &planned});
  }
  return candidates;
}

bool IsBetter(const absl::StatusOr<Schedule>& a, const absl::StatusOr<Schedule>& b) {
  return a.ok() && (!b.ok() || a->Objective() < b->Objective());
}

// The fastest of several plans. Without double buffers it is the one that is fastest with them.
absl::StatusOr<Schedule> BestSchedule(Graph& graph, const NpuConfig& config,
                                      const ScheduleOptions& options, int64_t limit_percent) {
  ScheduleOptions judged = options;
  if (!options.double_buffer) judged.double_buffer = judged.hoist = true;
  const std::vector<Residency> orders = PlanBothOrders(graph, config, options, limit_percent);
  const std::vector<Candidate> candidates = CandidatesOf(orders);
  absl::StatusOr<Schedule> best = Realize(candidates[0], config, judged);
  const bool is_long = best.ok() && best->lowered.commands.size() > kLongProgram;
  std::vector<std::future<absl::StatusOr<Schedule>>> attempts;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (is_long && candidates[i].order != candidates[0].order) break;
    attempts.push_back(std::async(std::launch::async, [&config, &judged, &candidates, i] {
      return Realize(candidates[i], config, judged);
    }));
  }
  size_t best_index = 0;
  for (size_t i = 0; i < attempts.size(); ++i) {
    absl::StatusOr<Schedule> attempt = attempts[i].get();
    if (!IsBetter(attempt, best)) continue;
    best = std::move(attempt);
    best_index = i + 1;
  }
  const Candidate& chosen = candidates[best_index];
  if (best.ok() && !options.double_buffer) best = Realize(chosen, config, options);
  if (best.ok()) graph = chosen.order->graph;
  return best;
}

absl::StatusOr<Schedule> WithResidency(Graph& graph, const NpuConfig& config,
                                       const ScheduleOptions& options) {
  absl::StatusOr<Schedule> schedule = ResourceExhausted("nothing fits on chip");
  for (const int64_t limit_percent : kResidencyPercent) {
    schedule = BestSchedule(graph, config, options, limit_percent);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) break;
  }
  return schedule;
}

// The smallest scratchpad, to kSearchStepBytes, for which a schedule is found.
std::optional<int64_t> SmallestScratchpad(const Graph& graph, NpuConfig config,
                                          ScheduleOptions options) {
  options.command_limit = kSearchCommandLimit;
  const auto fits = [&](int64_t size_bytes) {
    config.scratchpad.size_bytes = size_bytes;
    const absl::StatusOr<Schedule> begun = Begin(graph, NothingOnChip(graph), options);
    return begun.ok() &&
           std::any_of(kTilePercent.begin(), kTilePercent.end(), [&](int64_t tile_percent) {
             const auto lowered = Lower(graph, config, options, *begun, tile_percent);
             return lowered.ok() && Place(*lowered, config, options, 0).ok();
           });
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

absl::StatusOr<Schedule> ScheduleProgram(Graph& graph, const NpuConfig& config,
                                         const ScheduleOptions& options) {
  if (options.resident || options.stripes) {
    absl::StatusOr<Schedule> schedule = WithResidency(graph, config, options);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
  }
  absl::StatusOr<Schedule> schedule = WithNothingOnChip(graph, config, options);
  if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
  const std::optional<int64_t> smallest = SmallestScratchpad(graph, config, options);
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
