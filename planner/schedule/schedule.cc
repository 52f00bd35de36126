#include "planner/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <future>

#include "base/checked_math.h"
#include "planner/check_stop.h"
#include "planner/order/local_order.h"
#include "planner/schedule/realize.h"
#include "planner/schedule/residency.h"

namespace berth {
namespace {

// Percent of the scratchpad that one tile's buffers may take: below half, so that the next tile's
// fit beside them; less where fragmentation or long-lived buffers leave less.
constexpr std::array<int64_t, 4> kTilePercent = {45, 30, 18, 8};
// Percent of the scratchpad that a segment may have live, before loads are hoisted; less where the
// placement needs more room.
constexpr std::array<int64_t, 4> kResidencyPercent = {92, 80, 65, 45};
constexpr int64_t kLargestScratchpadBytes = int64_t{1} << 30;
constexpr int64_t kSearchStepBytes = 1024;
// A search for the smallest scratchpad looks at programs up to this long only, so that it ends
// soon.
constexpr size_t kSearchCommandLimit = 60000;

absl::StatusOr<Schedule> WithNothingOnChip(const ScheduleAttempt& attempt,
                                           std::vector<ScheduleTrial>& trials) {
  BERTH_ASSIGN_OR_RETURN(
      const Schedule begun,
      BeginSchedule(attempt.graph, NothingOnChip(attempt.graph), attempt.options));
  ScheduleTrial trial;
  trial.has_resident = false;
  absl::Status failure;
  for (const int64_t tile_percent : kTilePercent) {
    trial.tile_percent = static_cast<int32_t>(tile_percent);
    absl::StatusOr<Schedule> schedule =
        LowerSchedule(attempt.graph, attempt.config, attempt.options, begun, tile_percent);
    if (schedule.ok()) schedule = TryDepths(attempt, *schedule, trial, trials);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
    failure = schedule.status();
  }
  return failure;
}

// Plans of one order: what is believed of bands of rows.
constexpr size_t kBeliefs = 2;

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

// What to try, of the first `beliefs`: only the placement tells whether bands of rows without spare
// room make wait.
std::vector<ResidencyResult> PlanBeliefs(const Graph& graph, const NpuConfig& config,
                                         const ScheduleOptions& options, int64_t limit_percent,
                                         size_t beliefs, size_t first_search,
                                         SearchMonitor& monitor) {
  ResidencyOptions residency;
  residency.resident = options.resident;
  residency.stripes = options.stripes;
  residency.limit_bytes = config.scratchpad.size_bytes * limit_percent / 100;
  residency.stop = options.stop;
  if (!options.search) {
    residency.beam = 1;
    residency.all_manners = false;
  }
  const auto tell = [&](size_t search) {
    return [&monitor, search](int64_t work_units, int64_t limit_units) {
      monitor.SetWork(search, work_units, limit_units);
    };
  };
  if (monitor.is_on()) residency.progress = tell(first_search);
  ResidencyPlanner planner(graph, options.storage, config, kTilePercent[0]);
  std::vector<ResidencyResult> planned = {planner.Plan(residency)};
  if (beliefs == 1) return planned;
  residency.bands_spread = true;
  if (monitor.is_on()) residency.progress = tell(first_search + 1);
  planned.push_back(planner.Plan(residency));
  if (planned[0].plan == planned[1].plan) planned.pop_back();
  return planned;
}

// The order that the graph came with, of the lowest peak, and one that keeps readers near.
std::vector<Residency> PlanBothOrders(const Graph& graph, const NpuConfig& config,
                                      const ScheduleOptions& options, int64_t limit_percent,
                                      SearchMonitor& monitor) {
  std::vector<Residency> orders = {{graph, false, {}}, {graph, true, {}}};
  OrderLocally(orders[1].graph);
  const auto plan = [&](Residency& order) {
    order.planned =
        PlanBeliefs(order.graph, config, options, limit_percent, options.search ? kBeliefs : 1,
                    order.is_reordered ? kBeliefs : 0, monitor);
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
  bool bands_spread = false;
  int64_t scratchpad_divisor = 1;  // of what tiles and residency may take
};

// A machine with a part of the scratchpad.
NpuConfig PartOf(NpuConfig config, int64_t scratchpad_divisor) {
  config.scratchpad.size_bytes /= scratchpad_divisor;
  return config;
}

// What came of a candidate.
struct Realized {
  absl::StatusOr<Schedule> schedule;
  std::vector<ScheduleTrial> trials;
};

Realized Realize(const Candidate& candidate, const NpuConfig& config,
                 const ScheduleOptions& options, SearchMonitor& monitor) {
  const ScheduleAttempt attempt{candidate.order->graph, config, options, monitor};
  Realized result;
  const auto realize = [&]() -> absl::StatusOr<Schedule> {
    BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
    BERTH_ASSIGN_OR_RETURN(const Schedule begun,
                           BeginSchedule(attempt.graph, candidate.planned->plan, options));
    BERTH_ASSIGN_OR_RETURN(
        const Schedule lowered,
        LowerSchedule(attempt.graph, PartOf(config, candidate.scratchpad_divisor), options, begun,
                      kTilePercent[0]));
    ScheduleTrial trial;
    trial.is_reordered = candidate.order->is_reordered;
    trial.bands_spread = candidate.bands_spread;
    trial.tile_percent = static_cast<int32_t>(kTilePercent[0] / candidate.scratchpad_divisor);
    return TryDepths(attempt, lowered, trial, result.trials);
  };
  result.schedule = realize();
  if (result.schedule.ok()) {
    result.schedule->is_reordered = candidate.order->is_reordered;
    result.schedule->segments = candidate.planned->segments;
  }
  return result;
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
    for (const ResidencyResult& planned : order->planned) {
      candidates.push_back({order, &planned, &planned != order->planned.data()});
    }
  }
  return candidates;
}

bool IsBetter(const absl::StatusOr<Schedule>& a, const absl::StatusOr<Schedule>& b) {
  return a.ok() && (!b.ok() || a->Objective() < b->Objective());
}

// Appends what was tried; the plan that is kept so far is the one that is chosen.
void AddTrials(std::vector<ScheduleTrial> more, bool is_kept, std::vector<ScheduleTrial>& trials) {
  for (ScheduleTrial& trial : is_kept ? trials : more) trial.is_chosen = false;
  trials.insert(trials.end(), more.begin(), more.end());
}

// The fastest of several plans. Without double buffers it is the one that is fastest with them.
absl::StatusOr<Schedule> BestSchedule(Graph& graph, const NpuConfig& config,
                                      const ScheduleOptions& options, int64_t limit_percent,
                                      SearchMonitor& monitor, std::vector<ScheduleTrial>& trials) {
  ScheduleOptions judged = options;
  if (!options.double_buffer) judged.double_buffer = judged.hoist = true;
  const std::vector<Residency> orders =
      PlanBothOrders(graph, config, options, limit_percent, monitor);
  const std::vector<Candidate> candidates = CandidatesOf(orders);
  Realized first = Realize(candidates[0], config, judged, monitor);
  absl::StatusOr<Schedule> best = std::move(first.schedule);
  AddTrials(std::move(first.trials), best.ok(), trials);
  const bool is_long = best.ok() && best->lowered.commands.size() > kLongProgram;
  std::vector<std::future<Realized>> attempts;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (is_long && candidates[i].order != candidates[0].order) break;
    attempts.push_back(std::async(
        std::launch::async, [&, i] { return Realize(candidates[i], config, judged, monitor); }));
  }
  size_t best_index = 0;
  for (size_t i = 0; i < attempts.size(); ++i) {
    Realized attempt = attempts[i].get();
    const bool is_better = IsBetter(attempt.schedule, best);
    AddTrials(std::move(attempt.trials), is_better, trials);
    if (!is_better) continue;
    best = std::move(attempt.schedule);
    best_index = i + 1;
  }
  // Smaller tiles and fewer rows overlap better, and leave room for loads ahead.
  Candidate chosen = candidates[best_index];
  std::vector<ResidencyResult> of_half;
  if (options.search && best.ok() && !is_long) {
    Candidate half = chosen;
    half.scratchpad_divisor = 2;
    of_half = PlanBeliefs(half.order->graph, PartOf(config, half.scratchpad_divisor), options,
                          limit_percent, half.bands_spread ? kBeliefs : 1, 2 * kBeliefs, monitor);
    half.planned = &of_half.back();
    Realized attempt = Realize(half, config, judged, monitor);
    const bool is_better = IsBetter(attempt.schedule, best);
    AddTrials(std::move(attempt.trials), is_better, trials);
    if (is_better) {
      best = std::move(attempt.schedule);
      chosen = half;
    }
  }
  if (best.ok() && !options.double_buffer) {
    Realized again = Realize(chosen, config, options, monitor);
    best = std::move(again.schedule);
    AddTrials(std::move(again.trials), true, trials);
  }
  if (best.ok()) graph = chosen.order->graph;
  return best;
}

absl::StatusOr<Schedule> WithResidency(Graph& graph, const NpuConfig& config,
                                       const ScheduleOptions& options, SearchMonitor& monitor,
                                       std::vector<ScheduleTrial>& trials) {
  absl::StatusOr<Schedule> schedule = ResourceExhausted("nothing fits on chip");
  for (const int64_t limit_percent : kResidencyPercent) {
    schedule = BestSchedule(graph, config, options, limit_percent, monitor, trials);
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
    const absl::StatusOr<Schedule> begun = BeginSchedule(graph, NothingOnChip(graph), options);
    return begun.ok() &&
           std::any_of(kTilePercent.begin(), kTilePercent.end(), [&](int64_t tile_percent) {
             const auto lowered = LowerSchedule(graph, config, options, *begun, tile_percent);
             return lowered.ok() && PlaceSchedule(*lowered, config, options, 0).ok();
           });
  };
  int64_t too_small = config.scratchpad.size_bytes, enough = too_small;
  do {
    if (enough >= kLargestScratchpadBytes || ShouldStop(options.stop)) return std::nullopt;
    too_small = enough;
    enough = AlignUp(enough * 2, kSearchStepBytes);
  } while (!fits(enough));
  while (enough - too_small > kSearchStepBytes) {
    const int64_t middle = AlignUp(too_small + (enough - too_small) / 2, kSearchStepBytes);
    if (middle >= enough || ShouldStop(options.stop)) break;
    (fits(middle) ? enough : too_small) = middle;
  }
  return enough;
}

// With values on chip, or else without.
absl::StatusOr<Schedule> FindSchedule(Graph& graph, const NpuConfig& config,
                                      const ScheduleOptions& options,
                                      std::vector<ScheduleTrial>& trials) {
  SearchMonitor monitor(options.progress);
  if (options.resident || options.stripes) {
    absl::StatusOr<Schedule> schedule = WithResidency(graph, config, options, monitor, trials);
    if (schedule.ok() || !absl::IsResourceExhausted(schedule.status())) return schedule;
  }
  return WithNothingOnChip({graph, config, options, monitor}, trials);
}

}  // namespace

absl::StatusOr<Schedule> ScheduleProgram(Graph& graph, const NpuConfig& config,
                                         const ScheduleOptions& options) {
  std::vector<ScheduleTrial> trials;
  absl::StatusOr<Schedule> schedule = FindSchedule(graph, config, options, trials);
  // Some plan may be there; the search for a better one was cut short.
  BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
  if (schedule.ok()) schedule->trials = std::move(trials);
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
