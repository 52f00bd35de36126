#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/pool/csv.h"
#include "planner/pool/plan_pool.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string MessageOf(std::string_view text) {
  const auto problem = ParsePoolCsv(text);
  if (problem.ok()) return "accepted";
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(problem.status().message());
}

TEST(PoolCsvTest, ReadsColumnsByName) {
  const auto problem = ParsePoolCsv(
      "size, id ,upper,lower,hint,offset,alignment\r\n"
      "16,x,9,2,,32,8\r\n"
      "\r\n"
      "4,7,3,-1,64,,\r\n");
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->items.size(), 2u);
  const PoolItem& x = problem->items[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.begin_step, 2);
  EXPECT_EQ(x.end_step, 9);
  EXPECT_EQ(x.size_bytes, 16);
  EXPECT_EQ(x.alignment_bytes, 8);
  EXPECT_EQ(x.fixed_offset_bytes, 32);
  EXPECT_EQ(x.hint_offset_bytes, std::nullopt);
  const PoolItem& y = problem->items[1];
  EXPECT_EQ(y.name, "7");
  EXPECT_EQ(y.begin_step, -1);
  EXPECT_EQ(y.alignment_bytes, 1);
  EXPECT_EQ(y.fixed_offset_bytes, std::nullopt);
  EXPECT_EQ(y.hint_offset_bytes, 64);
}

TEST(PoolCsvTest, TakesEndAsInclusive) {
  const auto problem = ParsePoolCsv("\xEF\xBB\xBFid,lower,end,size\na,2,9,1");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->items[0].end_step, 10);
}

TEST(PoolCsvTest, SaysWhichLineAndColumn) {
  EXPECT_THAT(MessageOf(""), HasSubstr("empty"));
  EXPECT_THAT(MessageOf("id,lower,upper\n"), HasSubstr("no column 'size'"));
  EXPECT_THAT(MessageOf("id,lower,size\n"), HasSubstr("no column 'upper'"));
  EXPECT_THAT(MessageOf("id,lower,upper,end,size\n"), HasSubstr("both"));
  EXPECT_THAT(MessageOf("id,id,upper,lower,size\n"), HasSubstr("twice"));
  EXPECT_THAT(MessageOf("id,lower,upper,bytes\n"), HasSubstr("unknown column 'bytes'"));
  const std::string header = "id,lower,upper,size\n";
  EXPECT_THAT(MessageOf(header + "a,1,2,3\n\nb,1,2\n"), AllOf(HasSubstr("line 4"), HasSubstr("3")));
  EXPECT_THAT(MessageOf(header + "a,1,2,3\nb,1,x,3\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("'upper'"), HasSubstr("'x'")));
  EXPECT_THAT(MessageOf(header + "a,1,,3\n"), HasSubstr("'upper'"));
  EXPECT_THAT(MessageOf(header + "a,1,2.5,3\n"), HasSubstr("2.5"));
  EXPECT_THAT(MessageOf(header + "a,1,2,99999999999999999999\n"), HasSubstr("int64"));
  EXPECT_THAT(MessageOf(header + ",1,2,3\n"), HasSubstr("id is empty"));
  EXPECT_THAT(MessageOf(header + "a,1,2,3\na,1,2,3\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("line 2")));
  EXPECT_THAT(MessageOf("id,lower,end,size\na,1,9223372036854775807,3\n"), HasSubstr("line 2"));
}

TEST(PoolCsvTest, WrittenPlansReadBackAsFixed) {
  const auto problem = ParsePoolCsv("id,lower,upper,size,alignment\na,0,3,10,4\nb,1,4,6,4\n");
  ASSERT_TRUE(problem.ok());
  const auto plan = PlanPool(*problem);
  ASSERT_TRUE(plan.ok());
  const std::string text = FormatPoolCsv(*problem, *plan);
  EXPECT_EQ(text.substr(0, text.find('\n')), "id,lower,upper,size,alignment,offset");
  const auto again = ParsePoolCsv(text);
  ASSERT_TRUE(again.ok()) << again.status();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again->items[i].fixed_offset_bytes, plan->offset_bytes[i]);
    EXPECT_EQ(again->items[i].end_step, problem->items[i].end_step);
  }
  const auto replanned = PlanPool(*again);
  ASSERT_TRUE(replanned.ok());
  EXPECT_EQ(replanned->offset_bytes, plan->offset_bytes);
}

TEST(PoolCsvTest, SurvivesAnyBytes) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    uint64_t state = seed;
    std::string text = seed % 2 == 0 ? "id,lower,upper,size\n" : "";
    for (int i = 0; i < 200; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += "0123456789,,,\n\r -ax\"\0\xff"[(state >> 33) % 23];
    }
    const auto problem = ParsePoolCsv(text);
    const std::string message = problem.ok() ? "line" : std::string(problem.status().message());
    EXPECT_THAT(message, HasSubstr("line"));
  }
}

}  // namespace
}  // namespace berth
