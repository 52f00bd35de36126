// The exact search against brute force, on problems small enough for it.
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "planner/pool/exact/search.h"
#include "planner/pool/measures.h"
#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::BruteForceHeight;
using ::berth::testing::RandomPoolProblem;
using ::berth::testing::RandomPoolSpec;

// Every offset of every item, by definition: fixed offsets, alignment, alias groups.
class OffsetEnumeration {
 public:
  explicit OffsetEnumeration(const PoolProblem& problem) : items_(problem.items) {}

  int64_t LowestHeight() {
    for (int64_t height = 0;; ++height) {
      offsets_.clear();
      if (Fits(height)) return height;
    }
  }

 private:
  bool Fits(int64_t height) {
    const size_t index = offsets_.size();
    if (index == items_.size()) return true;
    for (int64_t offset = 0; offset + items_[index].size_bytes <= height; ++offset) {
      if (!Allows(index, offset)) continue;
      offsets_.push_back(offset);
      if (Fits(height)) return true;
      offsets_.pop_back();
    }
    return false;
  }

  bool Allows(size_t index, int64_t offset) const {
    const PoolItem& item = items_[index];
    if (offset % item.alignment_bytes != 0) return false;
    if (item.fixed_offset_bytes.value_or(offset) != offset) return false;
    for (size_t i = 0; i < index; ++i) {
      const PoolItem& other = items_[i];
      if (item.alias_group != kNoAliasGroup && item.alias_group == other.alias_group) {
        if (offsets_[i] != offset) return false;
        continue;
      }
      if (item.begin_step < other.end_step && other.begin_step < item.end_step &&
          offset < offsets_[i] + other.size_bytes && offsets_[i] < offset + item.size_bytes) {
        return false;
      }
    }
    return true;
  }

  const std::vector<PoolItem>& items_;
  std::vector<int64_t> offsets_;
};

// Small sizes, so that every height is tried.
PoolProblem TinyProblem(uint64_t seed) {
  RandomPoolSpec spec = {.item_count = 6 + static_cast<int>(seed % 2),
                         .step_count = 7,
                         .longest_steps = 5,
                         .largest_bytes = 5};
  if (seed % 3 == 1) spec.largest_alignment_bytes = 4;
  if (seed % 4 >= 2) spec.alias_group_count = 2;
  PoolProblem problem = RandomPoolProblem(seed, spec);
  if (seed % 5 < 2) {  // some are fixed where they lie in some plan
    const absl::StatusOr<PoolPlan> plan = PlanPool(problem, {.work_limit_units = 1});
    for (size_t i = seed % 7; plan.ok() && i < problem.items.size(); i += 3) {
      problem.items[i].fixed_offset_bytes = plan->offset_bytes[i];
    }
  }
  return problem;
}

ExactOutcome SearchAt(const PoolProblem& problem, int64_t height_bytes, SectionChoice choice,
                      uint64_t seed) {
  const BlockSet set = MakeBlocks(problem);
  const std::optional<ExactModel> model = MakeExactModel(set, 1'000'000);
  EXPECT_TRUE(model.has_value());
  ExactStrategy strategy = {
      .section_choice = choice, .noise = 0.3, .restart_units = 200, .seed = seed};
  const std::vector<double> measured = MeasureBlocks(set, BlockMeasure::kArea);
  for (const int32_t block : model->set_block) strategy.priorities.push_back(measured[block]);
  ExactSearch search(*model, strategy);
  search.SetHeight(height_bytes / model->unit_bytes);
  ExactOutcome outcome = ExactOutcome::kUndecided;
  for (int slice = 0; slice < 10'000 && outcome == ExactOutcome::kUndecided; ++slice) {
    outcome = search.Run(1000);
  }
  return outcome;
}

constexpr SectionChoice kChoices[] = {SectionChoice::kFewestPerFailure, SectionChoice::kLowest,
                                      SectionChoice::kTightest, SectionChoice::kEarliest};

TEST(PoolExactTest, DecidesEveryHeightAsEnumerationDoes) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const PoolProblem problem = TinyProblem(seed);
    const int64_t lowest_bytes = OffsetEnumeration(problem).LowestHeight();
    const SectionChoice choice = kChoices[seed % 4];
    for (int64_t height : {lowest_bytes - 1, lowest_bytes, lowest_bytes + 1}) {
      EXPECT_EQ(SearchAt(problem, height, choice, seed),
                height < lowest_bytes ? ExactOutcome::kRefuted : ExactOutcome::kFound)
          << "seed " << seed << ", height " << height << " of " << lowest_bytes;
    }
  }
}

TEST(PoolExactTest, PlansAreOptimalAndProved) {
  int above_load = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    PoolProblem problem = TinyProblem(seed);
    const int64_t lowest_bytes = OffsetEnumeration(problem).LowestHeight();
    absl::StatusOr<PoolPlan> plan = PlanPool(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
    EXPECT_EQ(plan->status, PoolStatus::kOptimal);
    EXPECT_EQ(plan->height_bytes, lowest_bytes);
    EXPECT_EQ(plan->lower_bound_bytes, lowest_bytes);
    above_load += plan->lower_bound_proof == PoolBoundProof::kSearch ? 1 : 0;
    problem.objective = PoolObjective::kFit;
    problem.capacity_bytes = lowest_bytes;
    plan = PlanPool(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->height_bytes, lowest_bytes);
    problem.capacity_bytes = lowest_bytes - 1;
    plan = PlanPool(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->status, PoolStatus::kInfeasible);
    EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
  }
  EXPECT_GT(above_load, 10);  // else this tests little
}

// The same problem in units so large that its height comes near what a problem may have. The item
// of one byte, alone at its step, keeps the search from dividing by the unit.
PoolProblem Magnified(PoolProblem problem, int64_t* unit_bytes) {
  int64_t total = 0, highest_fixed = 0, last_step = 0;
  bool is_aligned = false;
  for (const PoolItem& item : problem.items) {
    total += item.size_bytes + item.alignment_bytes;
    highest_fixed = std::max(highest_fixed, item.fixed_offset_bytes.value_or(0));
    last_step = std::max(last_step, item.end_step);
    is_aligned = is_aligned || item.alignment_bytes > 1;
  }
  const int64_t most = (kMostPoolBytes - 2) / (total + highest_fixed);
  *unit_bytes =
      is_aligned ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))) : most;
  for (PoolItem& item : problem.items) {
    item.size_bytes *= *unit_bytes;
    if (is_aligned) item.alignment_bytes *= *unit_bytes;
    if (item.fixed_offset_bytes) *item.fixed_offset_bytes *= *unit_bytes;
  }
  problem.items.push_back({.begin_step = last_step, .end_step = last_step + 1, .size_bytes = 1});
  return problem;
}

TEST(PoolExactTest, HeightsNearTheLimitOfAProblem) {
  int beyond_half = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const PoolProblem tiny = TinyProblem(seed);
    int64_t unit_bytes = 0;
    const PoolProblem problem = Magnified(tiny, &unit_bytes);
    const int64_t lowest_bytes = OffsetEnumeration(tiny).LowestHeight() * unit_bytes;
    const SectionChoice choice = kChoices[seed % 4];
    EXPECT_EQ(SearchAt(problem, lowest_bytes - 1, choice, seed), ExactOutcome::kRefuted);
    EXPECT_EQ(SearchAt(problem, lowest_bytes, choice, seed), ExactOutcome::kFound);
    const absl::StatusOr<PoolPlan> plan = PlanPool(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
    EXPECT_EQ(plan->status, PoolStatus::kOptimal);
    EXPECT_EQ(plan->height_bytes, lowest_bytes);
    beyond_half += plan->height_bytes > kMostPoolBytes / 2 ? 1 : 0;
  }
  EXPECT_GT(beyond_half, 20);  // else this tests little
}

// Larger than enumeration of offsets can do: every order of nine items.
TEST(PoolExactTest, NineItemsAsByEveryOrder) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 9,
                                 .step_count = 9,
                                 .longest_steps = 6,
                                 .largest_bytes = 40,
                                 .largest_alignment_bytes = 1 + static_cast<int64_t>(seed % 2)});
    const int64_t lowest_bytes = BruteForceHeight(problem);
    EXPECT_EQ(SearchAt(problem, lowest_bytes, kChoices[seed % 4], seed), ExactOutcome::kFound)
        << seed;
    EXPECT_EQ(SearchAt(problem, lowest_bytes - 1, kChoices[seed % 4], seed), ExactOutcome::kRefuted)
        << seed;
  }
}

}  // namespace
}  // namespace berth
