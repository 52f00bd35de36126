// Graphs of the frontend as ordering problems: what AssignStorage makes of an order is what the
// problem counts; and the graph files of `berth order`.
#include "tools/order_graph.h"

#include <gtest/gtest.h>

#include "planner/order/graph_problem.h"
#include "planner/order/order.h"
#include "planner/order/solve.h"
#include "tests/planner/graph_testing.h"
#include "tests/planner/order_testing.h"

namespace berth {
namespace {

// Elementwise ops, concats, reshapes and slices over values of a few shapes.
Graph RandomGraph(uint64_t seed) {
  TestGraph test(seed);
  std::vector<ValueId> values = {test.Apply(OpKind::kRelu, {test.Input(Shape{4, 8})}),
                                 test.Apply(OpKind::kTanh, {test.Input(Shape{4, 8})})};
  for (int i = 0; i < 25; ++i) {
    const auto pick = [&] {
      return values[static_cast<size_t>(
          test.RandomInt(0, static_cast<int64_t>(values.size()) - 1))];
    };
    const ValueId a = pick(), b = pick();
    const Shape shape = test.graph.at(a).type.shape;
    const int64_t choice = test.RandomInt(0, 7);
    if (choice == 0 && shape.ElementCount() < 500) {
      values.push_back(
          test.Apply(OpKind::kConcat, {a, a == b ? values[0] : a}, {{"axis", int64_t{0}}}));
    } else if (choice == 1) {
      values.push_back(test.Apply(OpKind::kReshape, {a, test.Ints({shape.ElementCount() / 8, 8})}));
    } else if (choice == 2 && shape[0] > 2) {
      values.push_back(test.Apply(OpKind::kSlice,
                                  {a, test.Ints({0}), test.Ints({shape[0] / 2}), test.Ints({0})}));
    } else if (shape == test.graph.at(b).type.shape) {
      values.push_back(test.Apply(OpKind::kAdd, {a, b}));
    } else {
      values.push_back(test.Apply(choice % 2 == 0 ? OpKind::kRelu : OpKind::kSigmoid, {a}));
    }
  }
  test.Output(test.Apply(OpKind::kRelu, {values.back()}));
  test.Output(test.Apply(OpKind::kTanh, {values[values.size() / 2]}));
  SeparateOutputs(test.graph);
  SeparateConcatOperands(test.graph);
  return test.graph;
}

TEST(OrderNodesTest, TheProblemCountsWhatStorageDoes) {
  int equal = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomGraph(seed);
    for (const bool in_place : {false, true}) {
      for (const bool views : {false, true}) {
        StorageOptions options;
        options.views = views;
        options.in_place = in_place;
        const GraphOrderProblem both = ToOrderProblem(graph, options);
        const OrderProblem& problem = both.problem;
        ASSERT_TRUE(ValidateOrderProblem(problem).ok());
        const int64_t counted = PeakOfOrder(problem, IdentityOrder(problem));
        const int64_t stored = PeakLiveBytes(AssignStorage(graph, options));
        EXPECT_GE(stored, PeakOfOrder(BoundProblem(both), IdentityOrder(problem)));
        if (both.maybe_free.empty()) {
          EXPECT_GE(stored, counted);
        }
        EXPECT_TRUE(in_place || stored == counted) << stored << " for " << counted;
        equal += stored == counted ? 1 : 0;
      }
    }
  }
  EXPECT_GT(equal, 500);  // of 600
}

TEST(OrderNodesTest, IsNeverWorseAndKeepsResults) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = RandomGraph(seed);
    Graph after = before;
    const OrderResult result = OrderNodes(after, {});
    EXPECT_EQ(result.model_peak_bytes, PeakLiveBytes(AssignStorage(before)));
    EXPECT_EQ(result.peak_bytes, PeakLiveBytes(AssignStorage(after)));
    EXPECT_LE(result.peak_bytes, result.model_peak_bytes);
    EXPECT_LE(result.lower_bound_bytes, result.peak_bytes);
    EXPECT_EQ(result.is_exact, result.peak_bytes == result.lower_bound_bytes);
    better += result.peak_bytes < result.model_peak_bytes ? 1 : 0;
    ExpectSameResults(before, after, seed);
  }
  EXPECT_GT(better, 5);
}

TEST(OrderGraphFileTest, ReadsIdsOfBothKinds) {
  const auto named = ParseOrderGraph(
      R"({"nodes": [{"id": 7, "bytes": 3}, {"id": "x", "bytes": 0}], "edges": [[7, "x"]]})");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->graph.output_bytes, std::vector<int64_t>({3, 0}));
  EXPECT_EQ(named->graph.edges, (std::vector<std::pair<int, int>>{{0, 1}}));
  EXPECT_TRUE(ToOrderProblem(*named).ok());
}

TEST(OrderGraphFileTest, RefusesWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not valid JSON at byte 1"},
      {"[1]", "not a JSON object"},
      {R"({"nodes": []})", "'edges'"},
      {R"({"edges": []})", "'nodes'"},
      {R"({"nodes": [], "edges": []})", "no nodes"},
      {R"({"nodes": [3], "edges": []})", "nodes[0]"},
      {R"({"nodes": [{"bytes": 1}], "edges": []})", "'id'"},
      {R"({"nodes": [{"id": 1.5, "bytes": 1}], "edges": []})", "'id'"},
      {R"({"nodes": [{"id": 1}], "edges": []})", "'bytes'"},
      {R"({"nodes": [{"id": 1, "bytes": -1}], "edges": []})", "'bytes'"},
      {R"({"nodes": [{"id": 1, "bytes": 1.5}], "edges": []})", "'bytes'"},
      {R"({"nodes": [{"id": 1, "bytes": 18446744073709551615}], "edges": []})", "'bytes'"},
      {R"({"nodes": [{"id": 1, "bytes": 9223372036854775807}], "edges": []})", "2^62"},
      {R"({"nodes": [{"id": 1, "bytes": 1}, {"id": 1, "bytes": 1}], "edges": []})",
       "nodes[1] has the id 1 of nodes[0]"},
      {R"({"nodes": [{"id": 1, "bytes": 1}], "edges": [[1]]})", "edges[0]"},
      {R"({"nodes": [{"id": 1, "bytes": 1}], "edges": [[1, "q"]]})", "no node has the id \"q\""},
      {R"({"nodes": [{"id": 1, "bytes": 1}], "edges": [[1, 1]]})", "a cycle of 1 nodes: 1 -> 1"},
      {R"({"nodes": [{"id": "a", "bytes": 1}, {"id": "b", "bytes": 1}],
           "edges": [["a", "b"], ["b", "a"]]})",
       "a cycle of 2 nodes: \""},
  };
  for (const auto& [text, reason] : cases) {
    const auto named = ParseOrderGraph(text);
    const absl::Status status = named.ok() ? ToOrderProblem(*named).status() : named.status();
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_NE(ToStd(status.message()).find(reason), std::string::npos) << status << " for " << text;
  }
}

}  // namespace
}  // namespace berth
