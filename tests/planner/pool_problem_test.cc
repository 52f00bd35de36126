#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "planner/pool/plan_pool.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PoolItem Item(std::string name, int64_t begin, int64_t end, int64_t size_bytes) {
  PoolItem item;
  item.name = std::move(name);
  item.begin_step = begin;
  item.end_step = end;
  item.size_bytes = size_bytes;
  return item;
}

PoolItem Fixed(PoolItem item, int64_t offset_bytes) {
  item.fixed_offset_bytes = offset_bytes;
  return item;
}

PoolItem InGroup(PoolItem item, int64_t group) {
  item.alias_group = group;
  return item;
}

PoolItem Aligned(PoolItem item, int64_t alignment_bytes) {
  item.alignment_bytes = alignment_bytes;
  return item;
}

std::string MessageOf(std::vector<PoolItem> items) {
  const auto plan = PlanPool({std::move(items), std::nullopt, PoolObjective::kLowestHeight});
  if (plan.ok()) return "accepted";
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(PoolProblemTest, NamesTheItemThatIsWrong) {
  EXPECT_THAT(MessageOf({Item("a", 0, 2, 8), Item("b", 0, 2, 0)}),
              AllOf(HasSubstr("'b'"), HasSubstr("size is 0")));
  EXPECT_THAT(MessageOf({Item("b", 0, 2, -4)}), HasSubstr("size is -4"));
  EXPECT_THAT(MessageOf({Item("c", 3, 3, 8)}), AllOf(HasSubstr("'c'"), HasSubstr("[3, 3)")));
  EXPECT_THAT(MessageOf({Item("c", 4, 3, 8)}), HasSubstr("[4, 3)"));
  EXPECT_THAT(MessageOf({Aligned(Item("d", 0, 1, 8), 24)}),
              AllOf(HasSubstr("'d'"), HasSubstr("alignment 24")));
  EXPECT_THAT(MessageOf({Aligned(Item("d", 0, 1, 8), 0)}), HasSubstr("alignment 0"));
  EXPECT_THAT(MessageOf({Aligned(Item("d", 0, 1, 8), INT64_MIN)}), HasSubstr("alignment"));
  EXPECT_THAT(MessageOf({InGroup(Item("e", 0, 1, 8), -7)}), HasSubstr("alias group -7"));
}

TEST(PoolProblemTest, RefusesFixedOffsetsThatNoPlanCanKeep) {
  EXPECT_THAT(MessageOf({Fixed(Item("a", 0, 2, 8), -8)}), HasSubstr("-8 is negative"));
  EXPECT_THAT(MessageOf({Fixed(Aligned(Item("a", 0, 2, 8), 16), 8)}), HasSubstr("multiple"));
  EXPECT_THAT(MessageOf({Fixed(Item("a", 0, 2, 8), 0), Fixed(Item("b", 1, 3, 8), 7)}),
              AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("[7, 15)")));
  EXPECT_EQ(MessageOf({Fixed(Item("a", 0, 2, 8), 0), Fixed(Item("b", 2, 3, 8), 7)}), "accepted");
  EXPECT_EQ(MessageOf({Fixed(Item("a", 0, 2, 8), 0), Fixed(Item("b", 1, 3, 8), 8)}), "accepted");
}

TEST(PoolProblemTest, ChecksFixedOffsetsThroughAliasGroups) {
  EXPECT_THAT(MessageOf({InGroup(Fixed(Item("a", 0, 2, 8), 0), 1),
                         InGroup(Fixed(Item("b", 4, 5, 8), 8), 1)}),
              AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("group 1")));
  EXPECT_THAT(MessageOf({InGroup(Fixed(Item("a", 0, 2, 8), 8), 1),
                         InGroup(Aligned(Item("b", 4, 5, 8), 64), 1)}),
              AllOf(HasSubstr("'b'"), HasSubstr("alignment 64")));
  // 'b' is fixed by its group only, and in the way of 'c'.
  EXPECT_THAT(MessageOf({InGroup(Fixed(Item("a", 0, 2, 8), 0), 1), InGroup(Item("b", 4, 6, 8), 1),
                         Fixed(Item("c", 5, 7, 8), 4)}),
              AllOf(HasSubstr("'b'"), HasSubstr("'c'")));
}

TEST(PoolProblemTest, RefusesSumsBeyondInt64) {
  EXPECT_THAT(MessageOf({Item("a", 0, 2, INT64_MAX)}), HasSubstr("'a'"));
  EXPECT_THAT(MessageOf({Item("a", 0, 2, int64_t{1} << 60), Item("b", 0, 2, int64_t{1} << 60),
                         Item("c", 0, 2, int64_t{1} << 60)}),
              HasSubstr("'b'"));
  EXPECT_THAT(MessageOf({Fixed(Item("a", 0, 2, 8), INT64_MAX - 4)}), HasSubstr("'a'"));
  EXPECT_THAT(MessageOf({Aligned(Item("a", 0, 2, 8), int64_t{1} << 62)}), HasSubstr("'a'"));
}

TEST(PoolProblemTest, AsksForACapacityWhereTheObjectiveNeedsIt) {
  for (PoolObjective objective : {PoolObjective::kFit, PoolObjective::kFitThenReuse}) {
    EXPECT_EQ(PlanPool({{Item("a", 0, 1, 8)}, std::nullopt, objective}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(PlanPool({{Item("a", 0, 1, 8)}, -1, PoolObjective::kFit}).ok());
}

TEST(PoolProblemTest, PlacesNothingInNoBytes) {
  const auto plan = PlanPool({});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->status, PoolStatus::kOptimal);
  EXPECT_EQ(plan->height_bytes, 0);
}

}  // namespace
}  // namespace berth
