// What the search for a schedule says of itself: the ways that it tried, and how far it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "planner/schedule/segment_record.h"
#include "tests/planner/small_network.h"

namespace berth {
namespace {

Segment Striped(int begin, int end, int parts) {
  Segment segment;
  segment.begin_step = begin;
  segment.end_step = end;
  segment.parts = parts;
  return segment;
}

TEST(SegmentRecord, KeepsTheCheapestOfEachKind) {
  SegmentRecord record(6);
  record.Add(Striped(2, 5, 4), 100, 900);
  record.Add(Striped(2, 5, 4), 100, 700);  // the same kind, cheaper
  record.Add(Striped(2, 5, 4), 100, 800);
  record.Add(Striped(2, 5, 4), 0, 650);
  record.Add(Striped(4, 5, 1), 100, 720);
  record.Add(Striped(3, 5, 8), 100, 710);
  record.Add(Striped(3, 5, 9), 100, 990);
  record.Add(Striped(3, 4, 2), 0, 1);  // ends elsewhere
  record.CountTooLarge(5);
  record.CountRuledOut(5);
  record.CountRuledOut(5);
  const SegmentInfo info = record.Chosen(Striped(2, 5, 4), 100, 700);
  EXPECT_EQ(info.costed, 7);
  EXPECT_EQ(info.too_large, 1);
  EXPECT_EQ(info.ruled_out, 2);
  EXPECT_EQ(info.chosen.begin_op, 2u);
  EXPECT_EQ(info.chosen.end_op, 5u);
  ASSERT_EQ(info.others.size(), SegmentInfo::kMostOthers);
  EXPECT_EQ(info.others[0].cost_cycles, 650);
  EXPECT_EQ(info.others[0].resident_bytes, 0);
  EXPECT_EQ(info.others[1].cost_cycles, 710);
  EXPECT_EQ(info.others[2].cost_cycles, 720);
}

TEST(SegmentRecord, AChosenWayThatIsNotAmongTheCheapest) {
  SegmentRecord record(2);
  for (int parts = 1; parts <= 5; ++parts) record.Add(Striped(0, 2, parts), 0, parts * 10);
  const SegmentInfo info = record.Chosen(Striped(0, 2, 5), 0, 50);
  ASSERT_EQ(info.others.size(), SegmentInfo::kMostOthers);
  EXPECT_EQ(info.others.back().parts, 3);
}

CompileOptions OnChipOptions() {
  CompileOptions options = SmallMachineOptions();
  options.resident = options.stripes = true;
  return options;
}

TEST(ScheduleRecord, SegmentsCoverTheOpsAndOnePlanIsChosen) {
  const BundleContents contents = *CompileGraph(SmallNetwork(), OnChipOptions());
  uint32_t next = 0;
  for (const SegmentInfo& segment : contents.segments) {
    EXPECT_EQ(segment.chosen.begin_op, next);
    next = segment.chosen.end_op;
    EXPECT_GE(segment.costed, 1);
    EXPECT_TRUE(std::is_sorted(
        segment.others.begin(), segment.others.end(),
        [](const SegmentWay& a, const SegmentWay& b) { return a.cost_cycles < b.cost_cycles; }));
  }
  EXPECT_EQ(next, contents.ops.size());
  const auto chosen = std::find_if(contents.trials.begin(), contents.trials.end(),
                                   [](const ScheduleTrial& trial) { return trial.is_chosen; });
  ASSERT_NE(chosen, contents.trials.end());
  for (const ScheduleTrial& trial : contents.trials) {
    EXPECT_EQ(trial.is_chosen, &trial == &*chosen);
    if (trial.makespan_cycles == 0) continue;
    EXPECT_LE(chosen->makespan_cycles + chosen->dram_cycles,
              trial.makespan_cycles + trial.dram_cycles);
  }
}

TEST(ScheduleRecord, ProgressChangesNothing) {
  CompileOptions options = OnChipOptions();
  const BundleContents silent = *CompileGraph(SmallNetwork(), options);
  std::mutex mutex;
  std::vector<ScheduleProgress> told;
  options.progress = [&](const ScheduleProgress& progress) {
    ASSERT_TRUE(mutex.try_lock());  // one at a time
    told.push_back(progress);
    mutex.unlock();
  };
  const BundleContents contents = *CompileGraph(SmallNetwork(), options);
  EXPECT_EQ(DumpProgram(contents.program.view()), DumpProgram(silent.program.view()));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().stage, ScheduleStage::kResidency);
  int64_t work_units = 0, timed_plans = 0, best_cycles = INT64_MAX;
  for (const ScheduleProgress& progress : told) {
    EXPECT_GE(progress.work_units, work_units);
    EXPECT_LE(progress.work_units, progress.work_limit_units);
    EXPECT_GE(progress.timed_plans, timed_plans);
    work_units = progress.work_units;
    timed_plans = progress.timed_plans;
    if (progress.best_cycles == 0) continue;
    EXPECT_LE(progress.best_cycles, best_cycles);
    best_cycles = progress.best_cycles;
  }
  EXPECT_EQ(told.back().stage, ScheduleStage::kPlacement);
  EXPECT_EQ(timed_plans,
            std::count_if(contents.trials.begin(), contents.trials.end(),
                          [](const ScheduleTrial& trial) { return trial.makespan_cycles > 0; }));
  EXPECT_EQ(told.back().lower_bound_cycles, contents.cycles_lower_bound);
  EXPECT_GE(best_cycles, contents.cycles_lower_bound);
}

}  // namespace
}  // namespace berth
