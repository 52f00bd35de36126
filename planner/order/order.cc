#include "planner/order/order.h"

#include <fmt/format.h>

#include <numeric>

#include "planner/order/graph_problem.h"
#include "planner/order/solve.h"

namespace berth {
namespace {

// A quarter of a second, and about a millisecond; a graph whose bound is a problem of its own takes
// it twice.
constexpr int64_t kWorkUnits = 4'000'000;
constexpr int64_t kQuickWorkUnits = 16'000;

Graph Permuted(const Graph& graph, const std::vector<int>& order) {
  Graph result = graph;
  for (size_t i = 0; i < order.size(); ++i) {
    result.nodes[i] = graph.nodes[static_cast<size_t>(order[i])];
  }
  return result;
}

}  // namespace

std::string DescribeOrder(const OrderResult& result) {
  return fmt::format("order: peak {} of {} in the model's order, bound {}, {}", result.peak_bytes,
                     result.model_peak_bytes, result.lower_bound_bytes,
                     result.is_exact ? "EXACT" : "heuristic");
}

OrderResult OrderNodes(Graph& graph, const StorageOptions& options, bool search,
                       const StopConditions& stop) {
  OrderResult result;
  result.model_peak_bytes = PeakLiveBytes(AssignStorage(graph, options));
  result.peak_bytes = result.model_peak_bytes;
  result.method = "model";
  std::vector<int> given(graph.nodes.size());
  std::iota(given.begin(), given.end(), 0);
  OrderSearchOptions limits;
  limits.work_limit_units = search ? kWorkUnits : kQuickWorkUnits;
  limits.should_stop = [&] { return ShouldStop(stop); };
  const GraphOrderProblem problem = ToOrderProblem(graph, options);
  const OrderSolution solution = SolveOrder(problem.problem, given, limits);
  result.lower_bound_bytes =
      problem.maybe_free.empty()
          ? solution.lower_bound_bytes
          : SolveOrder(BoundProblem(problem), given, limits).lower_bound_bytes;
  if (solution.order != given) {
    Graph candidate = Permuted(graph, solution.order);
    const int64_t peak_bytes = PeakLiveBytes(AssignStorage(candidate, options));
    if (peak_bytes < result.peak_bytes) {
      result.peak_bytes = peak_bytes;
      result.method = solution.method;
      graph = std::move(candidate);
    }
  }
  result.is_exact = result.peak_bytes == result.lower_bound_bytes;
  return result;
}

}  // namespace berth
