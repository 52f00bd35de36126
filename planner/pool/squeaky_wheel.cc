#include "planner/pool/squeaky_wheel.h"

#include <fmt/format.h>

#include <iterator>

#include "planner/pool/measures.h"

namespace berth {
namespace {

constexpr BlockMeasure kWheelMeasures[] = {BlockMeasure::kLength, BlockMeasure::kArea,
                                           BlockMeasure::kLoadTimesSize, BlockMeasure::kSize};
constexpr size_t kWheelCount = std::size(kWheelMeasures);
constexpr double kRaise = 1.4;             // of the priority of what got in the way
constexpr uint64_t kTurnsToRestart = 128;  // on average, until a wheel is set back to its measure

// Neither every step down nor the bound itself: the trials then fail early enough to teach, and
// often enough succeed.
int64_t ChooseLimit(int64_t lower_bound_bytes, int64_t height_bytes) {
  const int64_t gap_bytes = height_bytes - 1 - lower_bound_bytes;
  return lower_bound_bytes + gap_bytes - gap_bytes / 10;
}

}  // namespace

SqueakyWheel::SqueakyWheel(const BlockSet& set, uint64_t seed) : set_(set), random_(seed) {
  if (HasFixedBlocks(set)) {
    greedy_ = std::make_unique<GreedyPlacer>(set);
  } else {
    skyline_ = std::make_unique<SkylinePlacer>(set);
  }
  for (BlockMeasure measure : kWheelMeasures) {
    const std::vector<double> start = MeasureBlocks(set, measure);
    wheels_.push_back({start, start});
  }
}

Trial SqueakyWheel::Construct(const Wheel& wheel, int64_t goal_bytes, int64_t limit_bytes,
                              WorkBudget* budget) {
  if (skyline_) return skyline_->Place(wheel.priorities, goal_bytes, limit_bytes, budget);
  return greedy_->Place(SequenceBlocks(wheel.priorities, wheel.priorities), FitPolicy::kFirstFit,
                        limit_bytes, budget);
}

void SqueakyWheel::Turn(int64_t lower_bound_bytes, WorkBudget* budget, Incumbent* incumbent) {
  const size_t which = turn_ % kWheelCount;
  Wheel& wheel = wheels_[which];
  // At first the needs decide, as if the bound were reached; later only the limit counts.
  const int64_t limit_bytes = ChooseLimit(lower_bound_bytes, incumbent->height_bytes);
  const int64_t goal_bytes = turn_++ < kWheelCount ? lower_bound_bytes : limit_bytes;
  Trial trial = Construct(wheel, goal_bytes, limit_bytes, budget);
  for (int32_t block : trial.blocked_blocks) wheel.priorities[block] *= kRaise;
  if (random_() % kTurnsToRestart == 0) wheel.priorities = wheel.start;
  incumbent->Offer(std::move(trial),
                   fmt::format("improved by {}", BlockMeasureName(kWheelMeasures[which])));
}

}  // namespace berth
