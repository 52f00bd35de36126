#include <gtest/gtest.h>

#include "planner/pool/blocks.h"
#include "planner/pool/lower_bound.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::BruteForceHeight;
using ::berth::testing::RandomPoolProblem;

PoolLowerBound BoundOf(const PoolProblem& problem) {
  return ComputeLowerBound(MakeBlocks(problem));
}

TEST(PoolBoundTest, IsTheMostLiveBytesAtTheirStep) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 10, .size_bytes = 5});
  problem.items.push_back({.begin_step = 3, .end_step = 6, .size_bytes = 7});
  problem.items.push_back({.begin_step = 6, .end_step = 8, .size_bytes = 6});
  const PoolLowerBound bound = BoundOf(problem);
  EXPECT_EQ(bound.bound_bytes, 12);  // half-open: the second and the third never meet
  EXPECT_EQ(bound.step, 3);
  EXPECT_EQ(ItemsLiveAt(problem, bound.step), (std::vector<int64_t>{1, 0}));
}

TEST(PoolBoundTest, CountsAnAliasGroupOnce) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 4, .size_bytes = 8, .alias_group = 1});
  problem.items.push_back({.begin_step = 2, .end_step = 6, .size_bytes = 5, .alias_group = 1});
  problem.items.push_back({.begin_step = 3, .end_step = 8, .size_bytes = 2});
  EXPECT_EQ(BoundOf(problem).bound_bytes, 10);
  // From step 4 on only the smaller member is live.
  problem.items.push_back({.begin_step = 4, .end_step = 5, .size_bytes = 4});
  EXPECT_EQ(BoundOf(problem).bound_bytes, 11);
  EXPECT_EQ(BoundOf(problem).step, 4);
}

TEST(PoolBoundTest, MergesGroupsIntoDisjointParts) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 4, .size_bytes = 8, .alias_group = 1});
  problem.items.push_back({.begin_step = 2, .end_step = 6, .size_bytes = 5, .alias_group = 1});
  problem.items.push_back({.begin_step = 9, .end_step = 10, .size_bytes = 5, .alias_group = 1});
  const BlockSet set = MakeBlocks(problem);
  ASSERT_EQ(set.blocks.size(), 1u);
  std::vector<std::vector<int64_t>> parts;
  for (const BlockPart& part : set.Parts(set.blocks[0])) {
    parts.push_back({set.section_steps[part.begin_section], set.section_steps[part.end_section],
                     part.size_bytes});
  }
  EXPECT_EQ(parts, (std::vector<std::vector<int64_t>>{{0, 4, 8}, {4, 6, 5}, {9, 10, 5}}));
  EXPECT_EQ(set.blocks[0].size_bytes, 8);
}

TEST(PoolBoundTest, CountsAlignmentOnlyBelowTheTop) {
  PoolProblem problem;
  problem.items.push_back(
      {.begin_step = 0, .end_step = 2, .size_bytes = 10, .alignment_bytes = 16});
  problem.items.push_back(
      {.begin_step = 0, .end_step = 2, .size_bytes = 20, .alignment_bytes = 32});
  // The 20 bytes below end at 32 (aligned to 16), 10 above; or 16 + pad + 20, which is no better.
  EXPECT_EQ(BoundOf(problem).bound_bytes, 16 + 32 - 12);
  EXPECT_EQ(BoundOf(problem).live_peak_bytes, 30);
}

TEST(PoolBoundTest, CountsTheEndOfFixedItems) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 5, .end_step = 7, .size_bytes = 8});
  problem.items[0].fixed_offset_bytes = 100;
  EXPECT_EQ(BoundOf(problem).bound_bytes, 108);
  EXPECT_EQ(BoundOf(problem).step, 5);
}

TEST(PoolBoundTest, IsNeverAboveTheOptimum) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const PoolProblem problem =
        RandomPoolProblem(seed, {.item_count = 6,
                                 .step_count = 8,
                                 .longest_steps = 5,
                                 .largest_bytes = 20,
                                 .largest_alignment_bytes = int64_t{1} << seed % 4});
    EXPECT_LE(BoundOf(problem).bound_bytes, BruteForceHeight(problem));
  }
}

}  // namespace
}  // namespace berth
