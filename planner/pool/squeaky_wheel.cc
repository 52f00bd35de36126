#include "planner/pool/squeaky_wheel.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <random>

#include "planner/pool/greedy.h"
#include "planner/pool/measures.h"
#include "planner/pool/skyline.h"

namespace berth {
namespace {

constexpr BlockMeasure kWheelMeasures[] = {BlockMeasure::kLength, BlockMeasure::kArea,
                                           BlockMeasure::kLoadTimesSize, BlockMeasure::kSize};
constexpr size_t kWheelCount = std::size(kWheelMeasures);
constexpr double kRaise = 1.3;            // of the priority of what got in the way
constexpr uint64_t kTurnsToRestart = 64;  // on average, until a wheel is set back to its measure

struct Wheel {
  std::vector<double> start;
  std::vector<double> priorities;
};

using Construction = std::function<Trial(const std::vector<double>& priorities, int64_t goal_bytes,
                                         int64_t limit_bytes)>;

Construction MakeConstruction(const BlockSet& set, WorkBudget* budget) {
  if (HasFixedBlocks(set)) {
    return [&set, budget](const std::vector<double>& priorities, int64_t, int64_t limit_bytes) {
      return PlaceGreedily(set, SequenceBlocks(priorities, priorities), FitPolicy::kFirstFit,
                           limit_bytes, budget);
    };
  }
  const auto placer = std::make_shared<SkylinePlacer>(set);
  return [placer, budget](const std::vector<double>& priorities, int64_t goal_bytes,
                          int64_t limit_bytes) {
    return placer->Place(priorities, goal_bytes, limit_bytes, budget);
  };
}

void RaisePriorities(const BlockSet& set, const Trial& trial, int64_t goal_bytes, Wheel* wheel) {
  for (int32_t block : trial.blocked_blocks) wheel->priorities[block] *= kRaise;
  if (!trial.is_complete) return;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    if (trial.offset_bytes[i] + set.blocks[i].size_bytes <= goal_bytes) continue;
    wheel->priorities[i] *= kRaise;
  }
}

// At first the bound itself; later anywhere between the bound and the incumbent: a lower goal
// makes the choice follow the needs, a higher one the priorities.
int64_t ChooseGoal(size_t turn, int64_t lower_bound_bytes, const Incumbent& incumbent,
                   std::mt19937_64* random) {
  if (turn < kWheelCount) return lower_bound_bytes;
  const int64_t gap_bytes = incumbent.height_bytes - lower_bound_bytes;
  const auto share = static_cast<double>((*random)() % 1024) / 1024.0;
  return lower_bound_bytes + static_cast<int64_t>(static_cast<double>(gap_bytes) * share);
}

}  // namespace

void ImproveBySqueakyWheel(const BlockSet& set, int64_t lower_bound_bytes, int64_t target_bytes,
                           uint64_t seed, WorkBudget* budget, Incumbent* incumbent) {
  const int64_t block_count = static_cast<int64_t>(set.blocks.size());
  if (block_count * block_count > budget->LeftUnits()) return;
  const Construction construct = MakeConstruction(set, budget);
  std::vector<Wheel> wheels;
  for (BlockMeasure measure : kWheelMeasures) {
    const std::vector<double> start = MeasureBlocks(set, measure);
    wheels.push_back({start, start});
  }
  std::mt19937_64 random(seed);
  for (size_t turn = 0; incumbent->height_bytes > target_bytes && !budget->IsExhausted(); ++turn) {
    const size_t which = turn % kWheelCount;
    Wheel& wheel = wheels[which];
    const int64_t goal_bytes = ChooseGoal(turn, lower_bound_bytes, *incumbent, &random);
    Trial trial = construct(wheel.priorities, goal_bytes, incumbent->height_bytes - 1);
    RaisePriorities(set, trial, goal_bytes, &wheel);
    if (random() % kTurnsToRestart == 0) wheel.priorities = wheel.start;
    incumbent->Offer(std::move(trial),
                     fmt::format("improved by {}", BlockMeasureName(kWheelMeasures[which])));
  }
}

}  // namespace berth
