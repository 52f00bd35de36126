#include "planner/schedule/residency.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "planner/schedule/segment_record.h"

namespace berth {
namespace {

// Values of one segment that may be resident behind it: all combinations up to this many.
constexpr size_t kFreeChoices = 3;

// Striped runs begin at the best states of a boundary only: they cost most to evaluate.
constexpr int kStripedStates = 2;
// Longer striped runs end where few bytes cross the boundary.
constexpr int kLongestAnywhere = 6;
// Up to this share of the limit values simply stay: nothing else is tried.
constexpr int64_t kRoomyPercent = 50;
constexpr int kLongestRoomy = 6;
// Ways in which a striped segment deals with its rows, and the share of its room that rows and
// weights may take: the rest is for tiles and for loads that run ahead.
struct Manner {
  int spare_parts = 0;
  bool is_skewed = false, moves_in_place = false;
  int64_t held_percent = 85;
};
// Where so few parts fit, bands have room enough in the first manner; more parts let the units
// begin sooner side by side.
constexpr int kFewParts = 3, kFinerParts = 8;
constexpr Manner kManners[] = {{3, true, false, 85},
                               {1, true, false, 92},
                               {0, true, false, 92},
                               {0, false, false, 85},
                               {0, false, true, 97}};

// A way to reach a boundary.
struct State {
  std::vector<int> resident;  // buffers across the boundary, ascending
  int64_t cost = 0, dram_bytes = 0;
  int64_t busy_bytes = 0;   // of scratchpad, live in the last segment
  Segment segment;          // the last one
  std::vector<int> chosen;  // resident buffers that it made
  int previous = -1;        // position among the states of segment.begin_step
};

bool IsBetter(const State& a, const State& b) {
  return std::pair(a.cost, a.dram_bytes) < std::pair(b.cost, b.dram_bytes);
}

StoragePlan WithoutInPlace(const Graph& graph, StorageOptions options) {
  options.in_place = false;
  options.explain = false;
  options.on_chip = nullptr;
  return AssignStorage(graph, options);
}

class Search {
 public:
  Search(const Graph& graph, const StoragePlan& storage, SegmentCosts& costs,
         const ResidencyOptions& options)
      : graph_(graph),
        options_(options),
        storage_(storage),
        costs_(costs),
        units_before_(costs.work_units()),
        steps_(static_cast<int>(graph.nodes.size())),
        record_(steps_),
        states_(graph.nodes.size() + 1),
        crossing_bytes_(graph.nodes.size() + 1, 0) {
    for (const StorageBuffer& buffer : storage_.buffers) {
      if (buffer.kind != RegionKind::kPool) continue;
      for (int step = buffer.begin_step + 1; step < buffer.end_step; ++step) {
        crossing_bytes_[static_cast<size_t>(step)] += buffer.size_bytes;
      }
    }
  }

  ResidencyResult Run() {
    states_[0].push_back({});
    for (int begin = 0; begin < steps_; ++begin) {
      if (ShouldStop(options_.stop)) return {};
      std::vector<State>& here = states_[static_cast<size_t>(begin)];
      std::sort(here.begin(), here.end(), IsBetter);
      Prune(here);
      for (int i = 0; i < static_cast<int>(here.size()); ++i) Extend(begin, i);
      if (options_.progress) {
        options_.progress(costs_.work_units() - units_before_, options_.work_limit_units);
      }
    }
    return Trace();
  }

 private:
  // The state with nothing resident stays whatever it costs: every step can go on from there.
  void Prune(std::vector<State>& states) const {
    if (states.size() <= options_.beam) return;
    const auto bare = std::find_if(states.begin(), states.end(),
                                   [](const State& state) { return state.resident.empty(); });
    const auto last = states.begin() + static_cast<ptrdiff_t>(options_.beam) - 1;
    if (bare != states.end() && bare > last) std::swap(*bare, *last);
    states.resize(options_.beam);
  }

  const StorageBuffer& BufferAt(int b) const { return storage_.buffers[static_cast<size_t>(b)]; }

  void Extend(int begin, int index) {
    TrySegment({begin, begin + 1, 1}, index);
    is_frugal_ = IsAheadOfItsShare(begin);
    if (!options_.stripes || index >= (is_frugal_ ? 1 : kStripedStates)) return;
    const int longest = index == 0 ? options_.longest_segment : kLongestAnywhere;
    for (int length = 2; length <= longest && begin + length <= steps_; ++length) {
      if (length > kLongestAnywhere && !IsNarrow(begin + length)) continue;
      if (!TryStripes({begin, begin + length, 2}, index)) return;
    }
  }

  bool IsAheadOfItsShare(int begin) const {
    const int64_t share_units = options_.work_limit_units * (begin + 1) / steps_;
    return costs_.work_units() - units_before_ > share_units;
  }

  // Where fewer bytes live across the boundary than across its neighbours.
  bool IsNarrow(int boundary) const {
    const auto at = static_cast<size_t>(boundary);
    const int64_t bytes = crossing_bytes_[at];
    return bytes <= crossing_bytes_[at - 1] &&
           (at + 1 == crossing_bytes_.size() || bytes <= crossing_bytes_[at + 1]);
  }

  // Buffers that the segment makes and that live on behind it.
  std::vector<int> Choices(const Segment& segment) const {
    std::vector<int> choices;
    if (!options_.resident) return choices;
    for (const int b : costs_.TouchedBuffers(segment)) {
      const StorageBuffer& buffer = BufferAt(b);
      const bool lives_on =
          buffer.begin_step >= segment.begin_step && buffer.end_step > segment.end_step;
      if (buffer.kind == RegionKind::kPool && lives_on &&
          buffer.size_bytes <= options_.limit_bytes) {
        choices.push_back(b);
      }
    }
    return choices;
  }

  // Calls visit(chosen) for subsets of the choices; all or none where there are many.
  template <typename Visit>
  void ForEachChoice(const std::vector<int>& choices, Visit&& visit) {
    if (choices.size() > kFreeChoices || (is_frugal_ && choices.size() > 1)) {
      visit(std::vector<int>{});
      return visit(choices);
    }
    for (size_t mask = 0; mask < size_t{1} << choices.size(); ++mask) {
      std::vector<int> chosen;
      for (size_t i = 0; i < choices.size(); ++i) {
        if (mask >> i & 1) chosen.push_back(choices[i]);
      }
      visit(chosen);
    }
  }

  // The same with the resident buffers that the segment touches, and the bytes of the others.
  struct Around {
    std::vector<int> resident;
    int64_t passing_bytes = 0;
  };
  Around AroundOf(const Segment& segment, const State& state, const std::vector<int>& chosen) {
    const std::vector<int> touched = costs_.TouchedBuffers(segment);
    Around around;
    around.resident = chosen;
    for (const int b : state.resident) {
      if (std::binary_search(touched.begin(), touched.end(), b)) {
        around.resident.push_back(b);
      } else {
        around.passing_bytes += BufferAt(b).size_bytes;
      }
    }
    std::sort(around.resident.begin(), around.resident.end());
    around.resident.erase(std::unique(around.resident.begin(), around.resident.end()),
                          around.resident.end());
    return around;
  }

  // Everything that the segment touches or passes fits on chip with room to spare.
  bool IsRoomy(const Segment& segment, int index) {
    const State& state =
        states_[static_cast<size_t>(segment.begin_step)][static_cast<size_t>(index)];
    int64_t bytes = AroundOf(segment, state, {}).passing_bytes;
    for (const int b : costs_.TouchedBuffers(segment)) {
      const StorageBuffer& buffer = BufferAt(b);
      if (buffer.kind == RegionKind::kPool) bytes += buffer.size_bytes;
    }
    return bytes <= options_.limit_bytes * kRoomyPercent / 100;
  }

  void TrySegment(const Segment& segment, int index) {
    if (IsRoomy(segment, index)) {
      const std::vector<int> choices = Choices(segment);
      Evaluate(segment, index, choices);
      if (!choices.empty()) Evaluate(segment, index, {});
      return;
    }
    ForEachChoice(Choices(segment),
                  [&](const std::vector<int>& chosen) { Evaluate(segment, index, chosen); });
  }

  // Whether the segment, begun in the state, cannot get among the states that its end will keep,
  // were it as fast as its work and its transfers allow.
  bool IsHopeless(const Segment& segment, const State& state, const std::vector<int>& chosen) {
    const int64_t least =
        state.cost + costs_.LeastObjective(segment, AroundOf(segment, state, chosen).resident);
    const std::vector<State>& there = states_[static_cast<size_t>(segment.end_step)];
    size_t better = 0;
    bool has_bare = false;
    for (const State& known : there) {
      if (known.cost > least) continue;
      ++better;
      has_bare = has_bare || known.resident.empty();
    }
    return better >= options_.beam && has_bare;
  }

  void Evaluate(const Segment& segment, int index, const std::vector<int>& chosen) {
    const State state =
        states_[static_cast<size_t>(segment.begin_step)][static_cast<size_t>(index)];
    if (IsHopeless(segment, state, chosen)) {
      record_.CountRuledOut(segment.end_step);
      return;
    }
    const Around around = AroundOf(segment, state, chosen);
    // With nothing resident an op must run, however little is left for prefetch.
    const bool is_last_resort =
        !segment.is_striped() && around.resident.empty() && around.passing_bytes == 0;
    const auto cost = costs_.Evaluate(
        segment, around.resident, around.passing_bytes,
        is_last_resort ? std::numeric_limits<int64_t>::max() : options_.limit_bytes);
    State next;
    if (!cost) {
      record_.CountTooLarge(segment.end_step);
      if (!is_last_resort) return;
      next.cost = state.cost;  // the real lowering tells why
      next.dram_bytes = state.dram_bytes;
    } else {
      next.cost = state.cost + cost->Objective(options_.bands_spread) +
                  costs_.ExposedCycles(*cost, state.busy_bytes);
      next.busy_bytes = cost->peak_bytes + around.passing_bytes;
      next.dram_bytes = state.dram_bytes + cost->dram_bytes;
    }
    for (const std::vector<int>* buffers : {&state.resident, &chosen}) {
      for (const int b : *buffers) {
        if (BufferAt(b).end_step > segment.end_step) next.resident.push_back(b);
      }
    }
    std::sort(next.resident.begin(), next.resident.end());
    next.segment = segment;
    next.chosen = chosen;
    next.previous = index;
    record_.Add(segment, ResidentBytes(next), next.cost);
    Offer(static_cast<size_t>(segment.end_step), std::move(next));
  }

  int64_t ResidentBytes(const State& state) const {
    int64_t bytes = 0;
    for (const int b : state.resident) bytes += BufferAt(b).size_bytes;
    return bytes;
  }

  void Offer(size_t boundary, State state) {
    for (State& known : states_[boundary]) {
      if (known.resident != state.resident) continue;
      if (IsBetter(state, known)) known = std::move(state);
      return;
    }
    states_[boundary].push_back(std::move(state));
  }

  // False when no longer segment can be striped either.
  bool TryStripes(Segment segment, int index) {
    const State& state =
        states_[static_cast<size_t>(segment.begin_step)][static_cast<size_t>(index)];
    if (options_.resident && IsRoomy(segment, index)) {
      // Stripes could only let the units work side by side.
      if (segment.end_step - segment.begin_step > kLongestRoomy) return false;
      if (!costs_.HasLags(segment)) return true;
    }
    if (!costs_.IsStripable(segment, AroundOf(segment, state, {}).resident)) return false;
    bool may_grow = false;
    ForEachChoice(Choices(segment), [&](const std::vector<int>& chosen) {
      const State& from =
          states_[static_cast<size_t>(segment.begin_step)][static_cast<size_t>(index)];
      const Around around = AroundOf(segment, from, chosen);
      if (IsHopeless(segment, from, chosen)) {
        record_.CountRuledOut(segment.end_step);
        may_grow = true;
        return;
      }
      int64_t room_bytes = options_.limit_bytes - around.passing_bytes;
      for (const int b : around.resident) room_bytes -= BufferAt(b).size_bytes;
      int parts = 0;
      for (const Manner& manner : kManners) {
        const bool is_extreme =
            &manner == std::begin(kManners) || &manner == std::end(kManners) - 1;
        if (is_frugal_ && !is_extreme) continue;
        segment.spare_parts = manner.spare_parts;
        segment.is_skewed = manner.is_skewed;
        segment.moves_in_place = manner.moves_in_place;
        segment.parts =
            costs_.FewestParts(segment, around.resident, room_bytes * manner.held_percent / 100);
        if (segment.parts == 0 || (manner.moves_in_place && segment.parts == parts)) continue;
        parts = segment.parts;
        may_grow = true;
        Evaluate(segment, index, chosen);
        if (!options_.all_manners) break;
        if (parts > kFewParts) continue;
        segment.parts = kFinerParts;
        Evaluate(segment, index, chosen);
        break;
      }
    });
    return may_grow;
  }

  ResidencyResult Trace() {
    ResidencyResult result;
    result.plan.resident.assign(graph_.values.size(), false);
    const std::vector<State>& end = states_.back();
    if (end.empty()) {  // never: a step with nothing resident always goes on
      result.plan = NothingOnChip(graph_);
      return result;
    }
    int index = 0;
    for (int i = 1; i < static_cast<int>(end.size()); ++i) {
      if (IsBetter(end[static_cast<size_t>(i)], end[static_cast<size_t>(index)])) index = i;
    }
    result.cost = end[static_cast<size_t>(index)].cost;
    for (int boundary = steps_; boundary > 0;) {
      const State& state = states_[static_cast<size_t>(boundary)][static_cast<size_t>(index)];
      result.plan.segments.push_back(state.segment);
      result.segments.push_back(record_.Chosen(state.segment, ResidentBytes(state), state.cost));
      for (const int b : state.chosen) SetResident(b, result.plan);
      index = state.previous;
      boundary = state.segment.begin_step;
    }
    std::reverse(result.plan.segments.begin(), result.plan.segments.end());
    std::reverse(result.segments.begin(), result.segments.end());
    return result;
  }

  void SetResident(int buffer, OnChipPlan& plan) const {
    for (size_t i = 0; i < storage_.places.size(); ++i) {
      if (storage_.places[i].buffer == buffer) plan.resident[i] = true;
    }
  }

  const Graph& graph_;
  const ResidencyOptions& options_;
  const StoragePlan& storage_;
  SegmentCosts& costs_;
  const int64_t units_before_;
  bool is_frugal_ = false;
  const int steps_;
  SegmentRecord record_;
  std::vector<std::vector<State>> states_;  // per boundary
  std::vector<int64_t> crossing_bytes_;     // likewise: of what is made before and read behind
};

}  // namespace

ResidencyPlanner::ResidencyPlanner(const Graph& graph, const StorageOptions& storage_options,
                                   const NpuConfig& config, int64_t tile_percent)
    : graph_(graph),
      storage_(WithoutInPlace(graph, storage_options)),
      costs_(graph, storage_, config, tile_percent) {}

ResidencyResult ResidencyPlanner::Plan(const ResidencyOptions& options) {
  return Search(graph_, storage_, costs_, options).Run();
}

}  // namespace berth
