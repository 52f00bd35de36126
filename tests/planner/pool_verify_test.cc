// Mutations of good plans and problems, every one of which the verifier must refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "tests/planner/pool_testing.h"

namespace berth {
namespace {

using ::berth::testing::RandomPoolProblem;
using ::testing::HasSubstr;

struct Solved {
  PoolProblem problem;
  PoolPlan plan;
};

Solved Solve(PoolProblem problem) {
  const auto plan = PlanPool(problem, {.work_limit_units = 200'000});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return {std::move(problem), *plan};
}

std::string MessageOf(const Solved& solved) {
  const absl::Status status = VerifyPoolPlan(solved.problem, solved.plan);
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  return std::string(status.message());
}

// Two items that touch: both live at some step, one ends where the other begins.
std::vector<std::pair<size_t, size_t>> TouchingPairs(const Solved& s) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < s.problem.items.size(); ++i) {
    for (size_t j = 0; j < s.problem.items.size(); ++j) {
      const PoolItem &below = s.problem.items[i], &above = s.problem.items[j];
      if (below.begin_step < above.end_step && above.begin_step < below.end_step &&
          s.plan.offset_bytes[i] + below.size_bytes == s.plan.offset_bytes[j]) {
        pairs.emplace_back(i, j);
      }
    }
  }
  return pairs;
}

TEST(PoolVerifyTest, RefusesAnItemShiftedOntoItsNeighbour) {
  const Solved good = Solve(RandomPoolProblem(1, {.item_count = 60}));
  ASSERT_EQ(MessageOf(good), "accepted");
  const auto pairs = TouchingPairs(good);
  ASSERT_GT(pairs.size(), 20u);
  for (const auto& [below, above] : pairs) {
    Solved up = good, down = good, grown = good;
    up.plan.offset_bytes[below] += 1;
    EXPECT_THAT(MessageOf(up), HasSubstr("overlap"));
    down.plan.offset_bytes[above] -= 1;
    EXPECT_THAT(MessageOf(down), HasSubstr("overlap"));
    grown.problem.items[below].size_bytes += 1;
    EXPECT_THAT(MessageOf(grown), HasSubstr("overlap"));
  }
}

// A plan made for shortened intervals does not pass for the true ones.
TEST(PoolVerifyTest, RefusesAPlanMadeForShortenedIntervals) {
  const PoolProblem problem = RandomPoolProblem(2, {.item_count = 60, .longest_steps = 20});
  int refused = 0, reused = 0;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    Solved wrong = Solve(problem);
    PoolProblem shortened = problem;
    shortened.items[i].end_step = shortened.items[i].begin_step + 1;
    wrong.plan = Solve(shortened).plan;
    bool is_reused = false;
    for (size_t j = 0; j < problem.items.size(); ++j) {
      const PoolItem &a = problem.items[i], &b = problem.items[j];
      is_reused =
          is_reused || (i != j && a.begin_step < b.end_step && b.begin_step < a.end_step &&
                        wrong.plan.offset_bytes[i] < wrong.plan.offset_bytes[j] + b.size_bytes &&
                        wrong.plan.offset_bytes[j] < wrong.plan.offset_bytes[i] + a.size_bytes);
    }
    reused += is_reused ? 1 : 0;
    if (is_reused) refused += MessageOf(wrong) != "accepted" ? 1 : 0;
  }
  EXPECT_GT(reused, 10);
  EXPECT_EQ(refused, reused);
}

TEST(PoolVerifyTest, RefusesBrokenOffsets) {
  const Solved good = Solve(RandomPoolProblem(
      3, {.item_count = 30, .largest_alignment_bytes = 16, .alias_group_count = 3}));
  ASSERT_EQ(MessageOf(good), "accepted");
  for (size_t i = 0; i < good.problem.items.size(); ++i) {
    const PoolItem& item = good.problem.items[i];
    Solved bad = good;
    bad.plan.offset_bytes[i] = -item.alignment_bytes;
    EXPECT_THAT(MessageOf(bad), HasSubstr("negative"));
    bad.plan.offset_bytes[i] = INT64_MAX - INT64_MAX % item.alignment_bytes;
    EXPECT_NE(MessageOf(bad), "accepted");
    bad.plan.offset_bytes[i] = good.plan.height_bytes + 1;  // alone, but maybe misaligned
    EXPECT_NE(MessageOf(bad), "accepted");
    Solved fixed = good;
    fixed.problem.items[i].fixed_offset_bytes = good.plan.offset_bytes[i] + item.alignment_bytes;
    EXPECT_THAT(MessageOf(fixed), HasSubstr("is fixed at"));
    if (good.plan.offset_bytes[i] % 64 != 0) {
      Solved misaligned = good;
      misaligned.problem.items[i].alignment_bytes = 64;
      EXPECT_THAT(MessageOf(misaligned), HasSubstr("alignment 64"));
    }
  }
  Solved missing = good;
  missing.plan.offset_bytes.pop_back();
  EXPECT_THAT(MessageOf(missing), HasSubstr("29 offsets for 30 items"));
}

TEST(PoolVerifyTest, RefusesAliasesThatPart) {
  PoolProblem problem;
  problem.items.push_back({.begin_step = 0, .end_step = 2, .size_bytes = 8, .alias_group = 0});
  problem.items.push_back({.begin_step = 1, .end_step = 3, .size_bytes = 8, .alias_group = 0});
  Solved solved = Solve(problem);
  ASSERT_EQ(MessageOf(solved), "accepted");
  EXPECT_EQ(solved.plan.height_bytes, 8);
  Solved apart = solved;
  apart.plan.offset_bytes[1] = 8;
  EXPECT_THAT(MessageOf(apart), HasSubstr("alias but lie at"));
  solved.problem.items[1].alias_group = kNoAliasGroup;
  EXPECT_THAT(MessageOf(solved), HasSubstr("overlap"));
}

TEST(PoolVerifyTest, RefusesAFalseCertificate) {
  PoolProblem problem = RandomPoolProblem(5, {.item_count = 40});
  problem.capacity_bytes = 1'000'000;
  const Solved good = Solve(problem);
  ASSERT_EQ(MessageOf(good), "accepted");
  Solved bad = good;
  bad.plan.height_bytes -= 1;
  EXPECT_THAT(MessageOf(bad), HasSubstr("height"));
  bad = good;
  bad.plan.lower_bound_bytes = good.plan.live_peak_bytes + 1;
  EXPECT_THAT(MessageOf(bad), HasSubstr("lower bound"));
  bad = good;
  bad.plan.lower_bound_step = 100'000;
  EXPECT_THAT(MessageOf(bad), HasSubstr("only 0 bytes"));
  for (PoolStatus status : {PoolStatus::kInfeasible, PoolStatus::kTimeout}) {
    bad = good;
    bad.plan.status = status;
    EXPECT_THAT(MessageOf(bad), HasSubstr("contradicts"));
  }
  bad = good;
  bad.problem.capacity_bytes = good.plan.height_bytes - 1;
  EXPECT_THAT(MessageOf(bad), HasSubstr("contradicts"));
  bad = good;
  bad.plan.status = PoolStatus::kOptimal;
  bad.plan.lower_bound_bytes -= 1;
  EXPECT_THAT(MessageOf(bad), HasSubstr("contradicts"));
}

}  // namespace
}  // namespace berth
