#include "tools/inspect_interference.h"

#include <gmock/gmock.h>

#include <random>

#include "base/checked_math.h"
#include "tests/tools/inspect_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

bool Lives(const InterferenceNode& node, uint32_t step) {
  return node.begin_step <= step && step < node.end_step;
}

Edges AllPairs(const Interference& graph) {
  Edges edges;
  for (uint32_t a = 0; a < graph.nodes.size(); ++a) {
    for (uint32_t b = a + 1; b < graph.nodes.size(); ++b) {
      const InterferenceNode &x = graph.nodes[a], &y = graph.nodes[b];
      if (std::max(x.begin_step, y.begin_step) < std::min(x.end_step, y.end_step)) {
        edges.push_back({a, b});
      }
    }
  }
  return edges;
}

int64_t HeaviestStep(const Interference& graph, uint32_t steps, int64_t alignment) {
  int64_t heaviest = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    int64_t bytes = 0, most_padding = 0;
    for (const InterferenceNode& node : graph.nodes) {
      if (!Lives(node, step)) continue;
      const int64_t padded = AlignUp(node.size_bytes, alignment);
      bytes += padded;
      most_padding = std::max(most_padding, padded - node.size_bytes);
    }
    heaviest = std::max(heaviest, bytes - most_padding);
  }
  return heaviest;
}

// Commands that do nothing give the slots of the scratchpad times to live in.
InspectedPlan RandomScratchpad(std::mt19937& random, uint32_t steps) {
  BundleContents contents = TablesOf(1, {}, {});
  contents.program.commands.resize(steps);
  contents.conflicts.predecessor_count.resize(steps);
  contents.conflicts.successor_begin.resize(steps + 1);
  const uint32_t count = random() % 60;
  for (uint32_t i = 0; i < count; ++i) {
    Slot slot;
    slot.space = MemorySpace::kScratchpad;
    slot.size_bytes = random() % 300;
    slot.begin_command = random() % steps;
    slot.end_command = slot.begin_command + random() % (steps - slot.begin_command + 1);
    contents.program.slots.push_back(slot);
  }
  return PlanOf(std::move(contents));
}

TEST(Interference, AgreesWithAllPairsAndAllSteps) {
  constexpr uint32_t kSteps = 40;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    const Interference graph =
        FindInterference(RandomScratchpad(random, kSteps), MemorySpace::kScratchpad);
    const Edges edges = AllPairs(graph);
    EXPECT_EQ(graph.edge_count, static_cast<int64_t>(edges.size()));
    EXPECT_EQ(ListEdges(graph), edges);
    EXPECT_EQ(graph.clique_bytes, HeaviestStep(graph, kSteps, 1));
    for (const int64_t alignment : {2, 16, 64}) {
      EXPECT_EQ(AlignedBound(graph, alignment), HeaviestStep(graph, kSteps, alignment));
    }
    int64_t bytes = 0;
    for (const uint32_t n : graph.clique) {
      EXPECT_TRUE(Lives(graph.nodes[n], graph.clique_step));
      bytes += graph.nodes[n].size_bytes;
    }
    EXPECT_EQ(bytes, graph.clique_bytes);
  }
}

TEST(Interference, CliqueOfEachMemoryIsTheBoundOfItsPlan) {
  const InspectedPlan plan = PlanOf(BranchedContents());
  const Json json = InterferenceJson(plan);
  for (const char* memory : {"pool", "scratchpad", "accumulator"}) {
    const Json& graph = json[memory];
    EXPECT_EQ(graph["lower_bound_bytes"], plan.Memory(memory)->lower_bound_bytes);
    EXPECT_THAT(graph["lower_bound_explained"].get<std::string>(), HasSubstr("lower bound"));
    int64_t bytes = 0;
    for (const Json& item : graph["clique"]) bytes += item["size_bytes"].get<int64_t>();
    EXPECT_EQ(graph["clique_bytes"], bytes);
    EXPECT_LE(bytes, graph["lower_bound_bytes"]);
  }
  EXPECT_EQ(json["pool"]["clique_bytes"], plan.Memory("pool")->lower_bound_bytes);
  EXPECT_EQ(json["pool"]["nodes"].size(), json["pool"]["node_count"]);
  EXPECT_EQ(json["pool"]["edges"].size(), json["pool"]["edge_count"]);
  EXPECT_FALSE(json["scratchpad"].contains("edges"));
}

// What lives at once does not share bytes: the edges of the pool against its offsets.
TEST(Interference, NeighboursStandApart) {
  const Json json = InterferenceJson(PlanOf(BranchedContents()));
  ASSERT_GT(json["pool"]["edges"].size(), 0u);
  for (const Json& edge : json["pool"]["edges"]) {
    const Json& a = json["pool"]["nodes"][edge[0].get<size_t>()];
    const Json& b = json["pool"]["nodes"][edge[1].get<size_t>()];
    const auto end = [](const Json& node) {
      return node["offset_bytes"].get<int64_t>() + node["size_bytes"].get<int64_t>();
    };
    EXPECT_TRUE(end(a) <= b["offset_bytes"].get<int64_t>() ||
                end(b) <= a["offset_bytes"].get<int64_t>())
        << a << b;
  }
}

Interference TwoNodes(int64_t first_bytes, int64_t second_bytes) {
  BundleContents contents = TablesOf(1, {}, {});
  contents.program.commands.resize(1);
  contents.conflicts.predecessor_count.resize(1);
  contents.conflicts.successor_begin.resize(2);
  for (const int64_t size_bytes : {first_bytes, second_bytes}) {
    contents.program.slots.push_back({0, size_bytes, 0, 1, 0, 0, MemorySpace::kScratchpad});
  }
  return FindInterference(PlanOf(std::move(contents)), MemorySpace::kScratchpad);
}

TEST(Interference, SaysWhatMakesUpTheDifference) {
  const Interference graph = TwoNodes(100, 70);
  MemoryPlan plan;
  plan.height_bytes = 200;
  plan.lower_bound_bytes = 170;
  EXPECT_THAT(CompareWithBound(graph, plan), HasSubstr("equal to the plan's lower bound"));
  plan.lower_bound_bytes = 198;  // 128 + 70
  EXPECT_THAT(CompareWithBound(graph, plan), HasSubstr("28 bytes more, since every slot begins"));
  EXPECT_THAT(CompareWithBound(graph, plan), HasSubstr("a multiple of 64"));
  plan.height_bytes = plan.lower_bound_bytes = 199;
  EXPECT_THAT(CompareWithBound(graph, plan), HasSubstr("the search proved"));
  plan.height_bytes = 300;
  EXPECT_THAT(CompareWithBound(graph, plan), HasSubstr("neither"));
}

TEST(Interference, LongListsOfEdgesAreLeftOut) {
  std::vector<Slot> slots(600, Slot{0, 1, 0, 0, 0, 1, MemorySpace::kDram});
  InspectedPlan plan = PlanOf(TablesOf(2, {}, std::move(slots)));
  for (OpRange& ops : plan.slot_ops) ops = {0, 1};
  const Json pool = InterferenceJson(plan)["pool"];
  EXPECT_EQ(pool["edge_count"], 600 * 599 / 2);
  EXPECT_TRUE(pool["edges"].is_null());
  EXPECT_TRUE(pool.contains("edges_left_out"));
}

}  // namespace
}  // namespace berth
