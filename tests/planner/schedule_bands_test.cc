// Bands hold, part by part, every row that the ops of a segment read, and make every row once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/order/local_order.h"
#include "planner/schedule/bands.h"
#include "planner/schedule/live_profile.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

// Channels-last convolutions and pools, one after another, with sums of equal shapes.
Graph RandomChain(uint32_t seed, int ops) {
  TestGraph g(seed);
  const int64_t channels = 4;
  std::vector<ValueId> values = {
      g.Input(Shape{1, g.RandomInt(8, 40), g.RandomInt(4, 12), channels})};
  for (int i = 0; i < ops; ++i) {
    const ValueId x = values.back();
    const Shape shape = g.graph.at(x).type.shape;
    const int64_t kernel = g.RandomInt(0, 1) * 2 + 1;
    const int64_t stride = shape[1] > 5 && shape[2] > 5 ? g.RandomInt(1, 2) : 1;
    Node node;
    node.kind = OpKind::kConv;
    node.name = "conv" + std::to_string(i);
    node.opset = kRewriteOpset;
    node.layout = DataLayout::kNhwc;
    node.inputs = {x, g.Weights(Shape{kernel, kernel, channels, channels})};
    node.attributes.Set("pads", Ints(4, kernel / 2));
    node.attributes.Set("strides", Ints(2, stride));
    node.outputs = {g.graph.AddValue("v" + std::to_string(i), TensorType{})};
    EXPECT_TRUE(InferTypesOf(g.graph, node).ok());
    g.graph.nodes.push_back(node);
    values.push_back(node.outputs[0]);
    const ValueId same = *std::find_if(values.begin(), values.end(), [&](ValueId id) {
      return g.graph.at(id).type.shape == g.graph.at(values.back()).type.shape;
    });
    if (same != values.back() && g.RandomInt(0, 1) == 0) {
      values.push_back(g.Apply(OpKind::kAdd, {values.back(), same}));
    }
  }
  g.Output(values.back());
  return g.graph;
}

// What the lowering relies on, checked against the ops' own part rules.
void ExpectComplete(const Graph& graph, const StoragePlan& storage, const Segment& segment,
                    const BandPlan& plan) {
  std::vector<int64_t> made(graph.values.size(), 0);
  for (const ValueId id : graph.inputs) made[Index(id)] = graph.at(id).type.shape[kRowAxis];
  for (int part = 0; part < plan.parts; ++part) {
    for (int step = segment.begin_step; step < segment.end_step; ++step) {
      const Node& node = graph.nodes[static_cast<size_t>(step)];
      const IndexRange rows = plan.makes[static_cast<size_t>(step)][static_cast<size_t>(part)];
      const ValueId out = node.outputs[0];
      EXPECT_EQ(rows.begin, made[Index(out)]) << "part " << part << " of step " << step;
      if (rows.count == 0) continue;
      const NodeCall call(graph, node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        if (graph.at(id).constant != nullptr) continue;
        const auto read =
            GetOpDef(node.kind).part(call.call(), static_cast<int>(i), kRowAxis, rows);
        ASSERT_TRUE(read.has_value());
        EXPECT_LE(read->range.end(), made[Index(id)]) << "step " << step << " reads too early";
        const int band = plan.band_of_buffer[static_cast<size_t>(storage.places[Index(id)].buffer)];
        if (band < 0) continue;
        const IndexRange held =
            plan.bands[static_cast<size_t>(band)].held[static_cast<size_t>(part)];
        EXPECT_GE(read->range.begin, held.begin) << "part " << part << " of step " << step;
        EXPECT_LE(read->range.end(), held.end()) << "part " << part << " of step " << step;
        EXPECT_LE(held.count, plan.bands[static_cast<size_t>(band)].buffer_rows);
      }
      made[Index(out)] = rows.end();
    }
  }
  EXPECT_EQ(made[Index(graph.outputs[0])], graph.at(graph.outputs[0]).type.shape[kRowAxis]);
}

TEST(Bands, HoldWhatIsRead) {
  int held_less = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomChain(seed, 2 + static_cast<int>(seed) % 7);
    StorageOptions options;
    options.in_place = false;
    const StoragePlan storage = AssignStorage(graph, options);
    const GraphUses uses = ComputeUses(graph);
    RowReads reads(graph, uses);
    for (const int parts : {2, 3, 7, 100}) {
      for (const bool is_skewed : {false, true}) {
        Segment segment{0, static_cast<int>(graph.nodes.size()), parts, parts % 3, is_skewed};
        const auto plan = PlanBands(graph, storage, uses, reads, segment);
        ASSERT_TRUE(plan.has_value());
        ExpectComplete(graph, storage, segment, *plan);
        for (const Band& band : plan->bands) held_less += band.buffer_rows < band.rows;
      }
    }
  }
  EXPECT_GT(held_less, 500);
}

TEST(LiveProfile, AgreesWithPlainSums) {
  std::mt19937 random(5);
  for (const size_t size : {1u, 2u, 7u, 64u, 100u}) {
    std::vector<int64_t> plain(size);
    for (int64_t& bytes : plain) bytes = static_cast<int64_t>(random() % 100);
    LiveProfile profile(plain);
    for (int round = 0; round < 300; ++round) {
      size_t begin = random() % (size + 1), end = random() % (size + 1);
      if (begin > end) std::swap(begin, end);
      const auto bytes = static_cast<int64_t>(random() % 50) - 10;
      profile.Add(begin, end, bytes);
      for (size_t i = begin; i < end; ++i) plain[i] += bytes;
      const size_t first = random() % size, last = first + random() % (size - first) + 1;
      EXPECT_EQ(profile.Max(first, last),
                *std::max_element(plain.begin() + static_cast<ptrdiff_t>(first),
                                  plain.begin() + static_cast<ptrdiff_t>(last)));
    }
  }
}

TEST(OrderLocally, EndsSideBranchesBeforeTheTrunkGoesOn) {
  TestGraph g;
  const ValueId x = g.Input(Shape{4});
  const ValueId trunk = g.Apply(OpKind::kRelu, {x});
  const ValueId deeper = g.Apply(OpKind::kAbs, {trunk});
  const ValueId deepest = g.Apply(OpKind::kNeg, {deeper});
  const ValueId side = g.Apply(OpKind::kSigmoid, {trunk});
  g.Output(deepest);
  g.Output(side);
  const Graph before = g.graph;
  OrderLocally(g.graph);
  EXPECT_EQ(g.graph.nodes[1].outputs[0], side);
  ExpectSameResults(before, g.graph, 3);
}

}  // namespace
}  // namespace berth
