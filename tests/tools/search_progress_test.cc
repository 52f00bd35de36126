#include "tools/search_progress.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(SearchProgress, WorkOfBudget) {
  ScheduleProgress search;
  search.work_units = 4'300'000;
  search.work_limit_units = 20'000'000;
  EXPECT_EQ(SearchText(search), "what stays on chip: 21 % of 20.0 M units of work");
  search.work_units = 21'000'000;  // the last step may go beyond
  EXPECT_EQ(SearchText(search), "what stays on chip: 100 % of 20.0 M units of work");
  EXPECT_EQ(SearchText({}), "what stays on chip: 0 % of 0.0 M units of work");
}

TEST(SearchProgress, BestBesideTheBound) {
  ScheduleProgress search;
  search.stage = ScheduleStage::kPlacement;
  EXPECT_EQ(SearchText(search), "0 plans timed");
  search.timed_plans = 1;
  search.best_cycles = 1234;
  search.lower_bound_cycles = 1000;
  EXPECT_EQ(SearchText(search), "1 plan timed, best 1234 cycles, bound 1000");
}

// Tests do not run on a terminal: nothing is asked of the search, so that it costs nothing.
TEST(SearchProgress, NothingWithoutATerminal) {
  Progress progress("planning");
  CompileOptions options;
  ShowSearch("planning", progress, options);
  EXPECT_EQ(options.progress != nullptr, progress.is_on());
}

}  // namespace
}  // namespace berth
