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
constexpr double kRaise = 1.4;             // of the priority of what got in the way
constexpr uint64_t kTurnsToRestart = 128;  // on average, until a wheel is set back to its measure

struct Wheel {
  std::vector<double> start;
  std::vector<double> priorities;
};

using Construction = std::function<Trial(const std::vector<double>& priorities, int64_t goal_bytes,
                                         int64_t limit_bytes)>;

Construction MakeConstruction(const BlockSet& set, WorkBudget* budget) {
  if (HasFixedBlocks(set)) {
    const auto placer = std::make_shared<GreedyPlacer>(set);
    return [placer, budget](const std::vector<double>& priorities, int64_t, int64_t limit_bytes) {
      return placer->Place(SequenceBlocks(priorities, priorities), FitPolicy::kFirstFit,
                           limit_bytes, budget);
    };
  }
  const auto placer = std::make_shared<SkylinePlacer>(set);
  return [placer, budget](const std::vector<double>& priorities, int64_t goal_bytes,
                          int64_t limit_bytes) {
    return placer->Place(priorities, goal_bytes, limit_bytes, budget);
  };
}

// Neither every step down nor the bound itself: the trials then fail early enough to teach, and
// often enough succeed.
int64_t ChooseLimit(int64_t lower_bound_bytes, int64_t height_bytes) {
  const int64_t gap_bytes = height_bytes - 1 - lower_bound_bytes;
  return lower_bound_bytes + gap_bytes - gap_bytes / 10;
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
    // At first the needs decide, as if the bound were reached; later only the limit counts.
    const int64_t limit_bytes = ChooseLimit(lower_bound_bytes, incumbent->height_bytes);
    const int64_t goal_bytes = turn < kWheelCount ? lower_bound_bytes : limit_bytes;
    Trial trial = construct(wheel.priorities, goal_bytes, limit_bytes);
    for (int32_t block : trial.blocked_blocks) wheel.priorities[block] *= kRaise;
    if (random() % kTurnsToRestart == 0) wheel.priorities = wheel.start;
    incumbent->Offer(std::move(trial),
                     fmt::format("improved by {}", BlockMeasureName(kWheelMeasures[which])));
  }
}

}  // namespace berth
