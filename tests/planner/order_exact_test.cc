// The evaluators agree, and the search finds the optimum of every tiny problem.
#include <gtest/gtest.h>

#include "planner/order/exact.h"
#include "planner/order/solve.h"
#include "planner/order/state.h"
#include "tests/planner/order_testing.h"

namespace berth {
namespace {

// A random topological order.
std::vector<int> Shuffled(const OrderProblem& problem, std::mt19937_64& random) {
  std::vector<int> order;
  std::vector<bool> done(problem.predecessors.size(), false);
  while (static_cast<int>(order.size()) < problem.node_count()) {
    const int node = RandomBelow(random, problem.node_count());
    const std::vector<int>& before = problem.predecessors[static_cast<size_t>(node)];
    const bool is_ready = std::all_of(before.begin(), before.end(),
                                      [&](int other) { return done[static_cast<size_t>(other)]; });
    if (done[static_cast<size_t>(node)] || !is_ready) continue;
    done[static_cast<size_t>(node)] = true;
    order.push_back(node);
  }
  return order;
}

TEST(OrderProblemTest, CountingStepByStepIsTheDefinition) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const OrderProblem problem = RandomOrderProblem(seed, 5 + RandomBelow(random, 40));
    const std::vector<int> order = Shuffled(problem, random);
    EXPECT_EQ(PeakBySteps(OrderInstance(problem), order), PeakOfOrder(problem, order));
  }
}

TEST(OrderProblemTest, UndoTakesBackWhatRunDid) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const OrderProblem problem = RandomOrderProblem(seed, 30);
    const OrderInstance instance(problem);
    OrderState state(instance);
    const OrderState start = state;
    std::vector<int> order = Shuffled(problem, random);
    for (const int node : order) RunNode(instance, state, node);
    std::reverse(order.begin(), order.end());
    for (const int node : order) UndoNode(instance, state, node);
    EXPECT_EQ(state.live_bytes, start.live_bytes);
    EXPECT_EQ(state.hash, start.hash);
    EXPECT_EQ(state.ready, start.ready);
    EXPECT_EQ(state.done, start.done);
    EXPECT_EQ(state.users_done, start.users_done);
    EXPECT_EQ(state.inputs_left, start.inputs_left);
  }
}

TEST(OrderProblemTest, BackwardsTheNeedsAreTheSame) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const OrderProblem problem = RandomOrderProblem(seed, 25);
    std::vector<int> order = Shuffled(problem, random);
    std::vector<int64_t> needs = StepNeeds(problem, order);
    std::reverse(order.begin(), order.end());
    std::reverse(needs.begin(), needs.end());
    EXPECT_TRUE(IsTopologicalOrder(Reversed(problem), order));
    EXPECT_EQ(StepNeeds(Reversed(problem), order), needs);
  }
}

TEST(OrderProblemTest, AWindowNeedsWhatItsStepsNeed) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const OrderProblem problem = RandomOrderProblem(seed, 25);
    const std::vector<int> order = Shuffled(problem, random);
    const int begin = RandomBelow(random, 20);
    const int end = begin + 1 + RandomBelow(random, 25 - begin);
    const std::vector<int64_t> needs = StepNeeds(problem, order);
    const OrderProblem window = WindowOf(problem, order, begin, end);
    EXPECT_EQ(StepNeeds(window, IdentityOrder(window)),
              std::vector<int64_t>(needs.begin() + begin, needs.begin() + end));
  }
}

TEST(OrderSolveTest, FindsTheOptimumOfTinyProblems) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const OrderProblem problem = RandomOrderProblem(seed, 1 + static_cast<int>(seed % 7));
    const OrderSolution solution = SolveOrder(problem, IdentityOrder(problem));
    EXPECT_TRUE(IsTopologicalOrder(problem, solution.order));
    EXPECT_EQ(solution.peak_bytes, PeakOfOrder(problem, solution.order));
    EXPECT_EQ(solution.peak_bytes, BruteForcePeak(problem));
    EXPECT_EQ(solution.lower_bound_bytes, solution.peak_bytes);
    EXPECT_TRUE(solution.is_exact);
  }
}

// Each direction alone, without beams, proves the optimum and refuses one byte less.
TEST(OrderDecisionTest, DecidesAtTheOptimum) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    OrderProblem problem = RandomOrderProblem(seed, 1 + static_cast<int>(seed % 8));
    const int64_t best = problem.node_count() <= 7
                             ? BruteForcePeak(problem)
                             : SolveOrder(problem, IdentityOrder(problem)).peak_bytes;
    if (seed % 2 == 0) problem = Reversed(problem);
    const OrderInstance instance(problem);
    OrderDecision decision(instance, 1000);
    WorkBudget budget;
    budget.limit_units = 1'000'000;
    std::vector<int> order;
    EXPECT_EQ(decision.Within(best, budget, &order), OrderVerdict::kFound);
    EXPECT_TRUE(IsTopologicalOrder(problem, order));
    EXPECT_EQ(PeakOfOrder(problem, order), best);
    EXPECT_EQ(decision.Within(best - 1, budget, &order), OrderVerdict::kImpossible);
  }
}

TEST(OrderDecisionTest, GivesUpWhenWorkOrMemoryRunsOut) {
  const OrderProblem problem = *ToOrderProblem(RandomLayeredGraph(7, 200, 15, 1000));
  const OrderInstance instance(problem);
  const int64_t limit_bytes = SolveOrder(problem, IdentityOrder(problem), {200'000}).peak_bytes - 1;
  std::vector<int> order;
  WorkBudget little;
  little.limit_units = 1000;
  OrderDecision short_of_work(instance, 1'000'000);
  EXPECT_EQ(short_of_work.Within(limit_bytes, little, &order), OrderVerdict::kUnknown);
  EXPECT_LT(little.spent_units, 2000);
  WorkBudget much;
  much.limit_units = 1'000'000'000;
  OrderDecision short_of_memory(instance, 10);
  EXPECT_EQ(short_of_memory.Within(limit_bytes, much, &order), OrderVerdict::kUnknown);
}

}  // namespace
}  // namespace berth
