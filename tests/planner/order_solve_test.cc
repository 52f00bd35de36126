// Larger problems: never worse, the same again, split where every order must pass, clear refusals.
#include <gtest/gtest.h>

#include "planner/order/solve.h"
#include "tests/planner/order_testing.h"

namespace berth {
namespace {

TEST(OrderSolveTest, IsNeverWorseAndTellsTheTruth) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const int nodes = 20 + static_cast<int>(seed) * 20;
    const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(seed, nodes, 10, 3));
    const std::vector<int> given = IdentityOrder(problem);
    const OrderSolution solution = SolveOrder(problem, given, {1'000'000});
    EXPECT_TRUE(IsTopologicalOrder(problem, solution.order));
    EXPECT_EQ(solution.peak_bytes, PeakOfOrder(problem, solution.order));
    EXPECT_LE(solution.peak_bytes, PeakOfOrder(problem, given));
    EXPECT_LE(solution.peak_bytes, PeakOfOrder(problem, DepthFirstOrder(problem)));
    EXPECT_LE(solution.lower_bound_bytes, solution.peak_bytes);
    EXPECT_EQ(solution.is_exact, solution.lower_bound_bytes == solution.peak_bytes);
    EXPECT_TRUE(solution.is_reproducible);
  }
}

TEST(OrderSolveTest, MoreWorkIsNeverWorseAndBoundsHold) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(seed, 90, 8, 2));
    const OrderSolution exact = SolveOrder(problem, IdentityOrder(problem), {60'000'000});
    ASSERT_TRUE(exact.is_exact);
    int64_t before = std::numeric_limits<int64_t>::max();
    for (const int64_t units : {0, 1000, 30'000, 1'000'000}) {
      const OrderSolution some = SolveOrder(problem, IdentityOrder(problem), {units});
      EXPECT_LE(some.lower_bound_bytes, exact.peak_bytes);
      EXPECT_GE(some.peak_bytes, exact.peak_bytes);
      EXPECT_LE(some.peak_bytes, before);
      before = some.peak_bytes;
    }
  }
}

TEST(OrderSolveTest, IsDeterministic) {
  const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(3, 300, 15, 1000));
  OrderSearchOptions options;
  options.work_limit_units = 2'000'000;
  const OrderSolution first = SolveOrder(problem, IdentityOrder(problem), options);
  const OrderSolution again = SolveOrder(problem, IdentityOrder(problem), options);
  EXPECT_EQ(first.order, again.order);
  EXPECT_EQ(first.lower_bound_bytes, again.lower_bound_bytes);
}

TEST(OrderSolveTest, AStopLeavesAnOrder) {
  const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(3, 300, 15, 1000));
  OrderSearchOptions options;
  options.should_stop = [] { return true; };
  const OrderSolution solution = SolveOrder(problem, IdentityOrder(problem), options);
  EXPECT_TRUE(IsTopologicalOrder(problem, solution.order));
  EXPECT_FALSE(solution.is_reproducible);
}

// By the definition: a prefix is forced when each of its nodes is an ancestor of each other node.
std::vector<int> NaiveCuts(const OrderProblem& problem, const std::vector<int>& order) {
  const size_t count = order.size();
  std::vector<std::vector<bool>> above(count, std::vector<bool>(count, false));
  for (const int node : order) {
    for (const int before : problem.predecessors[static_cast<size_t>(node)]) {
      above[static_cast<size_t>(node)][static_cast<size_t>(before)] = true;
      for (size_t i = 0; i < count; ++i) {
        if (above[static_cast<size_t>(before)][i]) above[static_cast<size_t>(node)][i] = true;
      }
    }
  }
  std::vector<int> cuts;
  for (size_t cut = 1; cut < count; ++cut) {
    bool is_forced = true;
    for (size_t i = 0; i < cut; ++i) {
      for (size_t j = cut; j < count; ++j) {
        is_forced &= above[static_cast<size_t>(order[j])][static_cast<size_t>(order[i])];
      }
    }
    if (is_forced) cuts.push_back(static_cast<int>(cut));
  }
  return cuts;
}

TEST(ForcedCutsTest, AreThoseOfTheDefinition) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const int nodes = 2 + static_cast<int>(seed) * 3 / 2;
    const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(seed, nodes, 2, 1));
    const std::vector<int> order = DepthFirstOrder(problem);
    ASSERT_TRUE(IsTopologicalOrder(problem, order));
    EXPECT_EQ(ForcedCuts(problem, order), NaiveCuts(problem, order));
    found += ForcedCuts(problem, order).size();
  }
  EXPECT_GT(found, 100u);
}

TEST(OrderSolveTest, ThousandsInAChainOfDiamonds) {
  // Each diamond's large branch first, or both live: decided part by part.
  PlainGraph graph;
  for (int i = 0; i < 1000; ++i) {
    const int at = i * 4;
    graph.output_bytes.insert(graph.output_bytes.end(), {10, 50, 30, 1});
    if (i > 0) graph.edges.emplace_back(at - 1, at);
    graph.edges.insert(graph.edges.end(),
                       {{at, at + 1}, {at, at + 2}, {at + 1, at + 3}, {at + 2, at + 3}});
  }
  const OrderProblem problem = *ToOrderProblem(graph);
  const OrderSolution solution = SolveOrder(problem, IdentityOrder(problem));
  EXPECT_TRUE(solution.is_exact);
  EXPECT_EQ(solution.peak_bytes, 90);
}

TEST(FindCycleTest, FollowsTheArrows) {
  const auto cycle_of = [](std::vector<std::pair<int, int>> edges) {
    return FindCycle(*ToOrderProblem(PlainGraph{{1, 1, 1, 1, 1}, std::move(edges)}));
  };
  EXPECT_EQ(cycle_of({{0, 1}, {1, 2}, {0, 2}, {3, 2}}), std::vector<int>());
  EXPECT_EQ(cycle_of({{2, 2}}), std::vector<int>({2}));
  std::vector<int> cycle = cycle_of({{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}});
  ASSERT_EQ(cycle.size(), 3u);
  std::rotate(cycle.begin(), std::find(cycle.begin(), cycle.end(), 1), cycle.end());
  EXPECT_EQ(cycle, std::vector<int>({1, 2, 3}));
}

TEST(ValidateOrderProblemTest, RefusesWhatCannotBe) {
  EXPECT_FALSE(ToOrderProblem(PlainGraph{{1, -1}, {}}).ok());
  EXPECT_FALSE(ToOrderProblem(PlainGraph{{1, 1}, {{0, 2}}}).ok());
  EXPECT_FALSE(ToOrderProblem(PlainGraph{{1, 1}, {{-1, 0}}}).ok());
  EXPECT_FALSE(ToOrderProblem(PlainGraph{{int64_t{1} << 61, int64_t{1} << 61, 1}, {}}).ok());
  EXPECT_TRUE(ToOrderProblem(PlainGraph{{int64_t{1} << 61, int64_t{1} << 61}, {}}).ok());
}

TEST(OrderSolveTest, NothingToOrder) { EXPECT_TRUE(SolveOrder({}, {}).order.empty()); }

}  // namespace
}  // namespace berth
