#include "tools/inspect_why.h"

#include <gmock/gmock.h>

#include "npu_sim/verify.h"
#include "tests/tools/inspect_testing.h"
#include "tools/closest_names.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class Why : public ::testing::Test {
 protected:
  Json Explain(const std::string& name) const {
    const absl::StatusOr<Explanation> why = ExplainValue(plan_, name);
    EXPECT_TRUE(why.ok()) << why.status();
    return ExplanationJson(plan_, *why);
  }
  std::string Text(const std::string& name) const {
    return ExplanationText(plan_, *ExplainValue(plan_, name));
  }

  const InspectedPlan plan_ = PlanOf(BranchedContents());
};

Json ShareWith(const Json& why, const std::string& name) {
  for (const Json& share : why["shares"]) {
    if (share["name"] == name) return share;
  }
  return nullptr;
}

TEST_F(Why, InPlace) {
  const Json why = Explain("sum/permuted");
  EXPECT_EQ(why["storage"], "in_place");
  EXPECT_EQ(why["verified"], true);
  const Json share = ShareWith(why, "left/permuted");
  EXPECT_EQ(share["relation"], "source");
  EXPECT_EQ(share["safe"], true);
  EXPECT_THAT(Text("sum/permuted"), HasSubstr("written over 'left/permuted'"));
  EXPECT_EQ(ShareWith(Explain("left/permuted"), "sum/permuted")["relation"], "derived");
}

TEST_F(Why, View) {
  EXPECT_EQ(ShareWith(Explain("flat"), "wide/permuted")["safe"], true);
  EXPECT_THAT(Text("flat"), HasSubstr("'flat' is a view of 'wide/permuted': no bytes move"));
}

TEST_F(Why, PartsSideBySideHaveNoCommonElement) {
  const Json share = ShareWith(Explain("squashed/permuted"), "last/permuted");
  EXPECT_EQ(share["relation"], "sibling");
  EXPECT_EQ(share["safe"], true);
  EXPECT_THAT(share["because"].get<std::string>(), HasSubstr("no element is common"));
}

TEST_F(Why, OwnBytesAndTheReason) {
  const Json why = Explain("scores");
  EXPECT_EQ(why["storage"], "own");
  EXPECT_TRUE(why["shares"].empty());
  EXPECT_FALSE(why["note"].get<std::string>().empty());
  EXPECT_THAT(Text("scores"), HasSubstr("Shares bytes with no other value"));
}

TEST_F(Why, OtherTimesAreOrderedBySemaphores) {
  int seen = 0;
  for (const ValueInfo& value : plan_.info().values) {
    const Json why = Explain(value.name);
    for (const Json& share : why["shares"]) {
      EXPECT_EQ(share["safe"], true) << share;
      EXPECT_LT(share["begin_offset_bytes"], share["end_offset_bytes"]);
      if (share["relation"] != "other_times") continue;
      ++seen;
      const Json& order = share["order"];
      EXPECT_GT(order["pairs"], 0);
      EXPECT_EQ(order["unordered_pairs"], 0);
      ASSERT_FALSE(order["way"].empty());
      EXPECT_EQ(order["way"][0]["after_command"], order["last_before"]["command"]);
      EXPECT_EQ(order["way"].back()["command"], order["first_after"]["command"]);
    }
  }
  EXPECT_GT(seen, 4);
  EXPECT_THAT(Text("wide/permuted"), HasSubstr("waits for"));
  EXPECT_THAT(Text("wide/permuted"), HasSubstr("confirmed: every command"));
}

TEST_F(Why, EveryPairInCommonBytesIsNamed) {
  const std::vector<ValueInfo>& values = plan_.info().values;
  for (const ValueInfo& a : values) {
    const Json why = Explain(a.name);
    for (const ValueInfo& b : values) {
      const bool common = &a != &b && a.region == b.region &&
                          a.offset_bytes < b.offset_bytes + b.span_bytes &&
                          b.offset_bytes < a.offset_bytes + a.span_bytes;
      EXPECT_EQ(!ShareWith(why, b.name).is_null(), common) << a.name << " " << b.name;
    }
  }
}

TEST_F(Why, UnknownNamesAreAnsweredWithCloseOnes) {
  const absl::Status status = ExplainValue(plan_, "sqashed/permuted").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closest names: 'squashed/permuted'"));
}

// Without waits nothing is ordered: the answer says so instead of repeating the plan's claim.
TEST_F(Why, UnprovedProgramsAreNotVouchedFor) {
  BundleContents contents = BranchedContents();
  for (Command& command : contents.program.commands) command.wait_count = 0;
  const InspectedPlan plan = PlanOf(std::move(contents));
  const Explanation why = *ExplainValue(plan, "wide/permuted");
  EXPECT_FALSE(why.proved.ok());
  const Json json = ExplanationJson(plan, why);
  EXPECT_EQ(json["verified"], false);
  EXPECT_TRUE(ShareWith(json, "sum/permuted")["safe"].is_null());
  EXPECT_THAT(ExplanationText(plan, why), HasSubstr("cannot be confirmed"));
}

// A table that claims an in-place write over a value that is still needed.
TEST_F(Why, OverwritingWhatIsNeededIsNotSafe) {
  BundleContents contents = BranchedContents();
  for (ValueInfo& value : contents.values) {
    if (value.name == "left/permuted") value.end_op += 2;
  }
  const InspectedPlan plan = PlanOf(std::move(contents));
  const Explanation why = *ExplainValue(plan, "sum/permuted");
  EXPECT_EQ(ShareWith(ExplanationJson(plan, why), "left/permuted")["safe"], false);
  EXPECT_THAT(ExplanationText(plan, why), HasSubstr("NOT SAFE"));
}

// A source that goes in a circle, as a damaged file may have it.
TEST_F(Why, CirclesEnd) {
  BundleContents contents = BranchedContents();
  contents.values[1].source = 2;
  contents.values[2].source = 1;
  const InspectedPlan plan = PlanOf(std::move(contents));
  EXPECT_FALSE(ExplanationText(plan, *ExplainValue(plan, plan.info().values[1].name)).empty());
}

uint32_t SequenceOf(const ProgramView& program, uint32_t command) {
  uint32_t sequence = 0;
  for (uint32_t c = 0; c <= command; ++c) {
    sequence += program.commands[c].engine == program.commands[command].engine;
  }
  return sequence;
}

// Each link by itself: the queue of one engine, or a wait that the command really has.
void ExpectLinkHolds(const ProgramView& program, const OrderLink& link) {
  const Command& command = program.commands[link.command];
  if (link.same_engine) {
    EXPECT_EQ(program.commands[link.after].engine, command.engine);
    EXPECT_LT(link.after, link.command);
    return;
  }
  const absl::Span<const Wait> waits =
      program.waits.subspan(command.wait_begin, command.wait_count);
  EXPECT_NE(std::find(waits.begin(), waits.end(), link.wait), waits.end());
  EXPECT_EQ(program.commands[link.after].engine, link.wait.engine);
  EXPECT_EQ(SequenceOf(program, link.after), link.wait.count);
}

TEST(OrderProver, WaysAreChainsOfQueuesAndWaits) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const ProgramView& program = plan.program();
  const OrderProver prover = *OrderProver::Create(program);
  int ordered = 0;
  for (uint32_t after = 0; after < program.commands.size(); ++after) {
    for (uint32_t before = 0; before < after; ++before) {
      const std::vector<OrderLink> way = prover.FindWay(before, after);
      if (way.empty()) continue;
      ++ordered;
      EXPECT_EQ(way.back().command, after);
      for (size_t i = 0; i < way.size(); ++i) {
        EXPECT_EQ(way[i].after, i == 0 ? before : way[i - 1].command);
        ExpectLinkHolds(program, way[i]);
      }
    }
    EXPECT_TRUE(prover.FindWay(after, 0).empty());
  }
  EXPECT_GT(ordered, 0);
}

TEST(OrderProver, SeesWhatAMissingWaitLeavesOpen) {
  BundleContents contents = BranchedContents();
  const std::vector<Slot>& slots = contents.program.slots;
  std::pair<uint32_t, uint32_t> reuse;
  for (uint32_t a = 0; a < slots.size(); ++a) {
    for (uint32_t b = 0; b < slots.size(); ++b) {
      if (slots[a].space == MemorySpace::kDram && slots[b].space == MemorySpace::kDram &&
          slots[a].offset_bytes == slots[b].offset_bytes &&
          slots[a].end_command <= slots[b].begin_command) {
        reuse = {a, b};
      }
    }
  }
  ASSERT_NE(reuse.first, reuse.second);
  const ByteRange bytes = {slots[reuse.first].offset_bytes, slots[reuse.first].offset_bytes + 64};
  const ReuseProof whole =
      OrderProver::Create(contents.program.view())->Prove(reuse.first, reuse.second, bytes);
  EXPECT_GT(whole.pairs, 0);
  EXPECT_EQ(whole.unordered_pairs, 0);
  for (Command& command : contents.program.commands) command.wait_count = 0;
  const ReuseProof open =
      OrderProver::Create(contents.program.view())->Prove(reuse.first, reuse.second, bytes);
  EXPECT_EQ(open.pairs, whole.pairs);
  EXPECT_GT(open.unordered_pairs, 0);
  EXPECT_FALSE(open.apart);
}

TEST(ClosestNames, ContainedFirstThenByEdits) {
  const std::vector<std::string> names = {"conv1/out", "Relu_7", "relu", "pool", "relu_70"};
  EXPECT_THAT(ClosestNames(names, "relu_7", 3), ElementsAre("Relu_7", "relu_70", "relu"));
  EXPECT_THAT(ClosestNames(names, "poll", 1), ElementsAre("pool"));
  EXPECT_TRUE(ClosestNames({}, "x", 3).empty());
  EXPECT_EQ(ClosestNames(names, "", 9).size(), names.size());
}

}  // namespace
}  // namespace berth
