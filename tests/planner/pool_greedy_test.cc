// The scaling structures against naive versions of themselves.
#include <gtest/gtest.h>

#include "planner/pool/address_map.h"
#include "planner/pool/greedy.h"
#include "planner/pool/measures.h"
#include "planner/pool/occupancy.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::RandomPoolProblem;
using ::berth::testing::RandomPoolSpec;

TEST(PoolOccupancyTest, CollectsExactlyTheBytesTaken) {
  constexpr int32_t kSections = 21, kBytes = 40;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int32_t longest = 1 + static_cast<int32_t>(seed) % kSections;
    Occupancy occupancy(kSections, longest);
    bool taken[kSections][kBytes] = {};
    for (int round = 0; round < 30; ++round) {
      const int32_t begin = random() % kSections;
      const int32_t end = begin + 1 + random() % std::min(kSections - begin, longest);
      const int64_t low = random() % kBytes, high = low + 1 + random() % (kBytes - low);
      std::vector<ByteRange> ranges;
      occupancy.Collect(begin, end, &ranges);
      for (int64_t byte = 0; byte < kBytes; ++byte) {
        bool expected = false, actual = false;
        for (int32_t k = begin; k < end; ++k) expected = expected || taken[k][byte];
        for (const ByteRange& range : ranges) {
          actual = actual || (range.begin_bytes <= byte && byte < range.end_bytes);
        }
        ASSERT_EQ(actual, expected) << "byte " << byte << " in round " << round;
      }
      if (high - low > 5) continue;  // keep some bytes free
      occupancy.Add(begin, end, {low, high});
      for (int32_t k = begin; k < end; ++k) {
        for (int64_t byte = low; byte < high; ++byte) taken[k][byte] = true;
      }
    }
  }
}

bool IsFree(const BlockSet& set, const std::vector<int64_t>& offsets, const Block& block,
            int64_t offset_bytes) {
  for (size_t j = 0; j < offsets.size(); ++j) {
    if (offsets[j] == kNoOffset) continue;
    for (const BlockPart& a : set.Parts(block)) {
      for (const BlockPart& b : set.Parts(set.blocks[j])) {
        if (a.begin_section < b.end_section && b.begin_section < a.end_section &&
            offset_bytes < offsets[j] + b.size_bytes && offsets[j] < offset_bytes + a.size_bytes) {
          return false;
        }
      }
    }
  }
  return true;
}

TEST(PoolGreedyTest, FirstFitTakesTheLowestFreeOffset) {
  const RandomPoolSpec spec = {
      .item_count = 40, .largest_bytes = 24, .largest_alignment_bytes = 8, .alias_group_count = 4};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const BlockSet set = MakeBlocks(RandomPoolProblem(seed, spec));
    const std::vector<int32_t> sequence = SequenceBlocks(MeasureBlocks(set, BlockMeasure::kSize),
                                                         MeasureBlocks(set, BlockMeasure::kLength));
    WorkBudget budget = {1'000'000};
    const Trial trial =
        GreedyPlacer(set).Place(sequence, FitPolicy::kFirstFit, kUnlimitedBytes, &budget);
    ASSERT_TRUE(trial.is_complete);
    std::vector<int64_t> naive(set.blocks.size(), kNoOffset);
    for (int32_t index : sequence) {
      const Block& block = set.blocks[index];
      int64_t offset_bytes = 0;
      while (!IsFree(set, naive, block, offset_bytes)) offset_bytes += block.alignment_bytes;
      naive[index] = offset_bytes;
    }
    EXPECT_EQ(trial.offset_bytes, naive);
    EXPECT_EQ(trial.height_bytes, HeightBytes(set, naive));
  }
}

TEST(PoolGreedyTest, BestFitTakesTheTightestHole) {
  // Holes of 10 bytes at 8 and of 5 bytes at 26, both below 40.
  PoolProblem problem;
  const std::pair<int64_t, int64_t> fixed[] = {{0, 8}, {18, 8}, {31, 9}};
  for (const auto& [offset, size] : fixed) {
    PoolItem item = {.begin_step = 0, .end_step = 4, .size_bytes = size};
    item.fixed_offset_bytes = offset;
    problem.items.push_back(item);
  }
  problem.items.push_back({.begin_step = 1, .end_step = 2, .size_bytes = 5});
  const BlockSet set = MakeBlocks(problem);
  WorkBudget budget = {1'000'000};
  const int32_t sequence[] = {3};
  EXPECT_EQ(GreedyPlacer(set).Place(sequence, FitPolicy::kBestFit, 100, &budget).offset_bytes[3],
            26);
  EXPECT_EQ(GreedyPlacer(set).Place(sequence, FitPolicy::kFirstFit, 100, &budget).offset_bytes[3],
            8);
}

TEST(PoolGreedyTest, GivesUpAboveTheLimitAndSaysWhere) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 4, .size_bytes = 10});
  problem.items.push_back({.begin_step = 0, .end_step = 4, .size_bytes = 11});
  const BlockSet set = MakeBlocks(problem);
  WorkBudget budget = {1'000'000};
  const int32_t sequence[] = {0, 1};
  const Trial trial = GreedyPlacer(set).Place(sequence, FitPolicy::kFirstFit, 20, &budget);
  EXPECT_FALSE(trial.is_complete);
  EXPECT_EQ(trial.blocked_blocks, std::vector<int32_t>{1});
}

TEST(PoolAddressMapTest, FindsTheWindowRestedLongest) {
  constexpr int64_t kCapacity = 48;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    AddressMap map(kCapacity);
    std::vector<int64_t> free_step(kCapacity, kNeverUsedStep);
    for (int64_t now = 0; now < 60; ++now) {
      const int64_t size = 1 + random() % 12, alignment = int64_t{1} << random() % 3;
      const int64_t found = map.FindWindow({size, alignment, now, kNeverUsedStep, {}});
      int64_t expected = -1, expected_latest = 0;
      for (int64_t low = 0; low + size <= kCapacity; low += alignment) {
        const int64_t latest =
            *std::max_element(free_step.begin() + low, free_step.begin() + low + size);
        if (latest <= now && (expected < 0 || latest < expected_latest)) {
          expected = low;
          expected_latest = latest;
        }
      }
      ASSERT_EQ(found < 0, expected < 0) << "at step " << now;
      if (found < 0) continue;
      ASSERT_EQ(found % alignment, 0);
      const int64_t latest =
          *std::max_element(free_step.begin() + found, free_step.begin() + found + size);
      ASSERT_EQ(latest, expected_latest) << "at step " << now;
      const int64_t end_step = now + 1 + random() % 6;
      map.Use({found, found + size}, end_step, static_cast<int32_t>(now));
      std::fill(free_step.begin() + found, free_step.begin() + found + size, end_step);
    }
  }
}

}  // namespace
}  // namespace berth
