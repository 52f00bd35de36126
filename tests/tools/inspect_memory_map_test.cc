#include "tools/inspect_memory_map.h"

#include <gmock/gmock.h>

#include "tests/tools/inspect_testing.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// As a browser finds it: up to the first end tag.
Json DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script", at) - at));
}

std::vector<std::string> NamesOf(const Json& data) {
  return data["names"].get<std::vector<std::string>>();
}

TEST(MemoryMap, EverySlotIsInThePage) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const Json data = DataOf(MemoryMapPage(MemoryMapData(plan)));
  EXPECT_EQ(data["model"], "branched");
  EXPECT_EQ(data["target"], "edge");
  EXPECT_EQ(data["commands"], plan.program().commands.size());
  EXPECT_EQ(data["ops"].size(), plan.info().ops.size());
  size_t count = 0;
  for (const Json& memory : data["memories"]) {
    const std::string name = memory["name"];
    EXPECT_EQ(memory["height_bytes"], plan.Memory(name)->height_bytes);
    EXPECT_EQ(memory["lower_bound_bytes"], plan.Memory(name)->lower_bound_bytes);
    count += memory["slot"].size();
    for (const char* column :
         {"offset", "size", "begin", "end", "start", "finish", "op", "last_op", "label"}) {
      EXPECT_EQ(memory[column].size(), memory["slot"].size()) << column;
    }
    for (size_t i = 0; i < memory["slot"].size(); ++i) {
      const auto s = memory["slot"][i].get<uint32_t>();
      const Slot& slot = plan.program().slots[s];
      EXPECT_EQ(SpaceMemoryName(slot.space), name);
      EXPECT_EQ(memory["offset"][i], slot.offset_bytes);
      EXPECT_EQ(memory["size"][i], slot.size_bytes);
      EXPECT_EQ(memory["begin"][i], slot.begin_command);
      EXPECT_EQ(memory["end"][i], slot.end_command);
      EXPECT_EQ(data["names"][memory["label"][i].get<size_t>()], plan.SlotName(s));
      EXPECT_LT(memory["start"][i], memory["finish"][i]);
      EXPECT_LE(memory["finish"][i], data["cycles"]);
    }
  }
  EXPECT_EQ(count, plan.program().slots.size());
}

TEST(MemoryMap, SlotsOfThePoolNameTheirValues) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const Json data = MemoryMapData(plan);
  for (const ValueInfo& value : plan.info().values) {
    if (value.slot == kNoSlot) continue;
    EXPECT_THAT(NamesOf(data), Contains(value.name));
    std::vector<std::string> of_slot;
    const Json& pool = data["memories"][0];
    for (size_t i = 0; i < pool["slot"].size(); ++i) {
      if (pool["slot"][i] != value.slot) continue;
      for (const Json& name : pool["values"][i]) {
        of_slot.push_back(data["names"][name.get<size_t>()]);
      }
    }
    EXPECT_THAT(of_slot, Contains(value.name));
  }
}

TEST(MemoryMap, NeedsNothingButItself) {
  const std::string page = MemoryMapPage(MemoryMapData(PlanOf(BranchedContents())));
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "fetch(", "%BERTH"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
}

TEST(MemoryMap, HostileNamesStayData) {
  BranchedNames names;
  names.left = "</script><script>alert(1)</script>";
  names.right = "<!--<script>'\"&\\";
  names.sum = "\xe2\x80\xae\xe2\x80\xa8 {{}} %BERTH_DATA% $& ${x} `";
  BundleContents contents = BranchedContents(names);
  // The importer lets no control characters in; a file may hold them all the same.
  contents.values[0].name = "\n\t\x01\x7f\r";
  contents.values[0].slot = 0;
  contents.ops[0].kind = contents.ops[0].decision = contents.ops[0].name = "</script>\x02\n";
  const InspectedPlan plan = PlanOf(std::move(contents));
  const std::string page = MemoryMapPage(MemoryMapData(plan));
  EXPECT_EQ(Count(page, "</script"), Count(MemoryMapTemplate(), "</script"));
  EXPECT_EQ(Count(page, "<!--"), 0u);
  const Json data = DataOf(page);
  EXPECT_EQ(data, MemoryMapData(plan));
  for (const std::string& name : {names.left, names.right, names.sum, plan.info().values[0].name}) {
    EXPECT_THAT(NamesOf(data), Contains(HasSubstr(name)));
  }
}

TEST(MemoryMap, BytesThatAreNoTextAreReplaced) {
  BundleContents contents = BranchedContents();
  contents.model_name = "bad \xff\xfe </script>";
  contents.buffer_names[0] = "\xc3\x28\xed\xa0\x80";
  const Json data = DataOf(MemoryMapPage(MemoryMapData(PlanOf(std::move(contents)))));
  EXPECT_EQ(data["model"], "bad \xef\xbf\xbd\xef\xbf\xbd </script>");
}

TEST(MemoryMap, WithoutAProofThereAreNoCycles) {
  BundleContents contents = BranchedContents();
  for (Command& command : contents.program.commands) command.wait_count = 0;
  const Json data = MemoryMapData(PlanOf(std::move(contents)));
  EXPECT_TRUE(data["cycles"].is_null());
  EXPECT_THAT(data["no_cycles_because"].get<std::string>(), HasSubstr("races"));
  for (const Json& memory : data["memories"]) EXPECT_FALSE(memory.contains("start"));
}

}  // namespace
}  // namespace berth
