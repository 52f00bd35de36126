#include "tools/inspect_op.h"

#include <gmock/gmock.h>

#include "npu_sim/timing.h"
#include "tests/tools/inspect_testing.h"
#include "tools/inspect_why.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

InspectedPlan OnChipPlanned() { return PlanOf(BranchedContents({}, /*on_chip=*/true)); }

OpExplanation Explain(const InspectedPlan& plan, const std::string& name) {
  const std::optional<uint32_t> op = FindOp(plan, name);
  EXPECT_TRUE(op) << name;
  absl::StatusOr<OpExplanation> why = ExplainOp(plan, op.value_or(0));
  EXPECT_TRUE(why.ok()) << why.status();
  return *std::move(why);
}

TEST(WhyOp, SaysTileResidencyBoundAndWhatWasTried) {
  const InspectedPlan plan = OnChipPlanned();
  const OpExplanation why = Explain(plan, "mixing");
  const std::string text = OpExplanationText(plan, why);
  for (const char* part :
       {"'mixing' (Conv", "decision: tile ", "residency: op", "tried to end with", "bound by ",
        "it takes ", "whole plans that were placed and timed", "    * order of "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json json = OpExplanationJson(plan, why);
  EXPECT_EQ(json["name"], "mixing");
  EXPECT_EQ(json["verified"], true);
  EXPECT_GE(json["cycles"].get<int64_t>(), json["cycles_lower_bound"].get<int64_t>());
  EXPECT_GT(json["segment"]["costed"], 0);
  EXPECT_LE(json["segment"]["chosen"]["begin_op"], json["op"]);
  EXPECT_GT(json["segment"]["chosen"]["end_op"], json["op"]);
  int chosen = 0;
  for (const Json& trial : json["trials"]) {
    if (!trial["is_chosen"].get<bool>()) continue;
    ++chosen;
    EXPECT_EQ(trial["makespan_cycles"], json["makespan_cycles"]);
  }
  EXPECT_EQ(chosen, 1);
}

// What all ops take of an engine is its makespan, but for the end when it has nothing left.
TEST(WhyOp, TimesOfAllOpsAddUp) {
  const InspectedPlan plan = OnChipPlanned();
  const SimReport report = *SimulateTiming(plan.program(), plan.info().config);
  std::array<int64_t, OpExplanation::kKinds> taken{}, expected{};
  for (uint32_t op = 0; op < plan.info().ops.size(); ++op) {
    const OpExplanation why = *ExplainOp(plan, op);
    for (size_t kind = 0; kind < taken.size(); ++kind)
      taken[kind] += why.times[kind].total_cycles();
    if (why.time(why.main).command_count > 0) {
      EXPECT_GE(why.cycles, why.bound_cycles) << plan.OpName(op);
      EXPECT_NE(why.limit, OpLimit::kNothing);
    }
  }
  for (const EngineReport& engine : report.engines) {
    const auto empty = static_cast<size_t>(StallCause::kQueueEmpty);
    expected[static_cast<size_t>(engine.engine.kind)] +=
        report.makespan_cycles - engine.idle_cycles - engine.stall_cycles[empty];
  }
  EXPECT_EQ(taken, expected);
}

TEST(WhyOp, WithoutResidencyPlansAreTimedAllTheSame) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const OpExplanation why = Explain(plan, "mixing");
  EXPECT_EQ(why.segment, nullptr);
  EXPECT_THAT(OpExplanationText(plan, why), HasSubstr("nothing on chip"));
  EXPECT_FALSE(OpExplanationJson(plan, why).contains("segment"));
}

// A matrix unit that is starved, one that is not, and transfers too small for their set-up.
TEST(WhyOp, NamesWhatBounds) {
  const auto limit_on = [](auto&& change) {
    BundleContents contents = BranchedContents();
    change(contents.config);
    const InspectedPlan plan = PlanOf(std::move(contents));
    return Explain(plan, "product").limit;
  };
  EXPECT_EQ(limit_on([](NpuConfig& config) { config.dram.peak_millibytes_per_cycle = 50; }),
            OpLimit::kBandwidth);
  EXPECT_EQ(limit_on([](NpuConfig& config) {
              config.dma.setup_cycles = 100000;
              config.dram.peak_millibytes_per_cycle = 1000000;
            }),
            OpLimit::kLatency);
  EXPECT_EQ(limit_on([](NpuConfig& config) {
              config.matrix.int8_macs_per_cycle = 1;
              config.dram.peak_millibytes_per_cycle = 1000000;
            }),
            OpLimit::kCompute);
}

TEST(WhyOp, OldBundlesAndUnprovedOnes) {
  BundleContents contents = BranchedContents({}, /*on_chip=*/true);
  contents.segments.clear();
  contents.trials.clear();
  for (Command& command : contents.program.commands) command.wait_count = 0;
  const InspectedPlan plan = PlanOf(std::move(contents));
  const OpExplanation why = Explain(plan, "mixing");
  EXPECT_FALSE(why.proved.ok());
  const std::string text = OpExplanationText(plan, why);
  EXPECT_THAT(text, HasSubstr("what was tried is not in this bundle"));
  EXPECT_THAT(text, HasSubstr("does not verify"));
  EXPECT_THAT(text, Not(HasSubstr("bound by")));
  const Json json = OpExplanationJson(plan, why);
  EXPECT_EQ(json["verified"], false);
  EXPECT_FALSE(json.contains("bound_by"));
}

TEST(WhyOp, NearNamesAreOfOpsToo) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  EXPECT_FALSE(FindOp(plan, "mixin"));
  const absl::Status status = ExplainValue(plan, "mixin").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'mixing'"));
}

// The tables on disk: the same when they come back, and refused where they cannot be.
class SearchTables : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Bundle>> RoundTrip() const {
    const std::string path = (folder_.path() / "branched.berth").string();
    const absl::Status status = WriteBundle(path, contents_);
    if (!status.ok()) return status;
    return Bundle::Open(path, LoadLevel::kTrusted);
  }
  void ExpectRefused(const std::string& what) const {
    const absl::Status status = RoundTrip().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  BundleContents contents_ = BranchedContents({}, /*on_chip=*/true);
  const ScratchFolder folder_;
};

TEST_F(SearchTables, ComeBack) {
  const auto bundle = RoundTrip();
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const BundleContents& read = (*bundle)->info();
  ASSERT_EQ(read.segments.size(), contents_.segments.size());
  ASSERT_EQ(read.trials.size(), contents_.trials.size());
  const InspectedPlan before = PlanOf(contents_), after = *MakeInspectedPlan(*bundle);
  for (uint32_t op = 0; op < read.ops.size(); ++op) {
    EXPECT_EQ(OpExplanationJson(before, *ExplainOp(before, op)),
              OpExplanationJson(after, *ExplainOp(after, op)));
  }
}

TEST_F(SearchTables, AreRefusedWhereTheyCannotBe) {
  const BundleContents good = contents_;
  const auto expect = [&](const std::string& what, auto&& damage) {
    contents_ = good;
    damage(contents_);
    ExpectRefused(what);
  };
  using C = BundleContents;
  expect("segments 0", [](C& c) { c.segments[0].chosen.begin_op = 1; });
  expect("segments 0", [](C& c) { c.segments[0].chosen.end_op = 0; });
  expect("segments 0", [](C& c) { c.segments[0].chosen.end_op = 4000000000u; });
  expect("segments 0", [](C& c) { c.segments[0].chosen.parts = 0; });
  expect("segments 0", [](C& c) { c.segments[0].costed = -1; });
  expect("segments 0", [](C& c) { c.segments[0].others.resize(4, c.segments[0].chosen); });
  expect("they end with op", [](C& c) { c.segments.pop_back(); });
  expect("trials 0", [](C& c) { c.trials[0].hoist_percent = 101; });
  expect("trials 0", [](C& c) { c.trials[0].makespan_cycles = -1; });
}

}  // namespace
}  // namespace berth
