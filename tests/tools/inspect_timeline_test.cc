#include "tools/inspect_timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/tools/inspect_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Characters between the two bars of a line; each is one to three bytes of UTF-8.
std::vector<std::string> BarOf(const std::string& line) {
  const size_t begin = line.find('|') + 1;
  std::vector<std::string> bar;
  for (const char c : line.substr(begin, line.find('|', begin) - begin)) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) {
      bar.back() += c;
    } else {
      bar.push_back(std::string(1, c));
    }
  }
  return bar;
}

ValueInfo ValueAt(uint32_t begin_op, uint32_t end_op) {
  ValueInfo value;
  value.name = fmt::format("value{}", begin_op);
  value.type = {DType::kFloat32, Shape{16}};
  value.region = 1;
  value.span_bytes = 64;
  value.begin_op = begin_op;
  value.end_op = end_op;
  return value;
}

TEST(Timeline, JsonSaysWhatTheTablesSay) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const Json json = *TimelineJson(plan);
  ASSERT_EQ(json["values"].size(), plan.info().values.size());
  for (size_t v = 0; v < json["values"].size(); ++v) {
    const ValueInfo& value = plan.info().values[v];
    const Json& shown = json["values"][v];
    EXPECT_EQ(shown["name"], value.name);
    EXPECT_EQ(shown["begin_op_name"], plan.info().ops[value.begin_op].name);
    EXPECT_EQ(shown["last_op_name"], plan.info().ops[value.end_op - 1].name);
    EXPECT_EQ(shown["end_offset_bytes"].get<int64_t>() - shown["offset_bytes"].get<int64_t>(),
              shown["size_bytes"].get<int64_t>());
    if (shown["slot"].is_null()) continue;
    const Slot& slot = plan.program().slots[shown["slot"].get<size_t>()];
    EXPECT_GE(shown["offset_bytes"], slot.offset_bytes) << shown;
    EXPECT_LE(shown["end_offset_bytes"], slot.offset_bytes + slot.size_bytes) << shown;
  }
}

// The load again, from the values instead of the commands.
TEST(Timeline, LiveBytesAreThoseOfTheValues) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const Json json = *TimelineJson(plan);
  int64_t peak = 0;
  for (uint32_t op = 0; op < plan.info().ops.size(); ++op) {
    std::set<uint32_t> slots;
    for (const ValueInfo& value : plan.info().values) {
      if (value.slot != kNoSlot && value.begin_op <= op && op < value.end_op) {
        slots.insert(value.slot);
      }
    }
    int64_t bytes = 0;
    for (const uint32_t slot : slots) bytes += plan.program().slots[slot].size_bytes;
    EXPECT_EQ(json["live_bytes"][op], bytes) << op;
    peak = std::max(peak, bytes);
  }
  EXPECT_EQ(json["peak_bytes"], peak);
  EXPECT_EQ(json["live_bytes"][json["peak_op"].get<size_t>()], peak);
  EXPECT_EQ(peak, plan.Memory("pool")->lower_bound_bytes);
}

TEST(Timeline, NamesStorageAndPlace) {
  const std::string text = *TimelineText(PlanOf(BranchedContents()));
  EXPECT_THAT(text, HasSubstr("'sum/permuted' float32[1x12x12x4], in place of 'left/permuted'"));
  EXPECT_THAT(text, HasSubstr("'flat' float32[1x1152], view of 'wide/permuted'"));
  EXPECT_THAT(text, HasSubstr("part of 'both/permuted'"));
  EXPECT_THAT(text, HasSubstr("input 0 [0, 2304)"));
}

TEST(Timeline, BarsHaveSixtyColumnsForAnyNumberOfOps) {
  for (const uint32_t op_count : {1u, 7u, 60u, 500u, 100000u}) {
    std::vector<ValueInfo> values;
    for (const uint32_t op : {0u, op_count / 2, op_count - 1})
      values.push_back(ValueAt(op, op + 1));
    values.push_back(ValueAt(0, op_count));
    const std::string text = *TimelineText(PlanOf(TablesOf(op_count, values, {})));
    const std::vector<std::string> lines = Lines(text);
    ASSERT_EQ(lines.size(), 2 + values.size() + 1) << text;
    for (size_t l = 2; l < 2 + values.size(); ++l) {
      const std::vector<std::string> bar = BarOf(lines[l]);
      ASSERT_EQ(bar.size(), 60u) << lines[l];
      EXPECT_GE(std::count(bar.begin(), bar.end(), "█"), 1) << lines[l];
    }
    EXPECT_EQ(BarOf(lines[4])[0] == "█", op_count == 1) << "the last op begins at the left";
  }
}

TEST(Timeline, HalfTheOpsAreHalfTheBar) {
  const std::string text = *TimelineText(PlanOf(TablesOf(500, {ValueAt(250, 500)}, {})));
  const std::vector<std::string> bar = BarOf(Lines(text)[2]);
  EXPECT_NE(bar[29], "█");
  for (size_t c = 30; c < 60; ++c) EXPECT_EQ(bar[c], "█") << c;
}

TEST(Timeline, OlderBundlesHaveNoValues) {
  const InspectedPlan plan = PlanOf(TablesOf(3, {}, {}));
  EXPECT_EQ(TimelineText(plan).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(TimelineJson(plan).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(InspectedPlan, RefusesTablesThatPointOutside) {
  const auto refused = [](std::vector<ValueInfo> values, std::vector<Slot> slots) {
    const absl::StatusOr<std::shared_ptr<const Bundle>> bundle =
        Bundle::FromContents(TablesOf(3, std::move(values), std::move(slots)), LoadLevel::kTrusted);
    return MakeInspectedPlan(*bundle).status().code() == absl::StatusCode::kDataLoss;
  };
  ValueInfo value = ValueAt(0, 1);
  EXPECT_FALSE(refused({value}, {}));
  value.slot = 7;
  EXPECT_TRUE(refused({value}, {}));
  value = ValueAt(0, 1);
  value.offset_bytes = -1;
  EXPECT_TRUE(refused({value}, {}));
  Slot slot;
  slot.space = MemorySpace::kScratchpad;
  slot.size_bytes = 64;
  EXPECT_FALSE(refused({}, {slot}));
  slot.end_command = 1;  // there are none
  EXPECT_TRUE(refused({}, {slot}));
  slot.end_command = 0;
  slot.size_bytes = INT64_MAX;
  EXPECT_TRUE(refused({}, {slot}));
  slot.size_bytes = int64_t{1} << 60;
  EXPECT_TRUE(refused({}, {slot, slot}));
  slot = {};
  EXPECT_TRUE(refused({}, {slot}));  // in no memory
}

}  // namespace
}  // namespace berth
