#include "planner/order/plain_graph.h"

#include <algorithm>

namespace berth {

absl::StatusOr<OrderProblem> ToOrderProblem(const PlainGraph& graph) {
  OrderProblem problem;
  const size_t nodes = graph.output_bytes.size();
  problem.predecessors.resize(nodes);
  problem.buffers.resize(nodes);
  for (size_t node = 0; node < nodes; ++node) {
    problem.buffers[node] = {graph.output_bytes[node], {static_cast<int>(node)}, false, true};
  }
  std::vector<std::pair<int, int>> edges = graph.edges;
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [from, to] : edges) {
    if (std::min(from, to) < 0 || static_cast<size_t>(std::max(from, to)) >= nodes) {
      return InvalidArgument("order: edge {} -> {} of {} nodes", from, to, nodes);
    }
    problem.predecessors[static_cast<size_t>(to)].push_back(from);
    OrderBuffer& output = problem.buffers[static_cast<size_t>(from)];
    output.live_after = false;
    if (from != to) output.users.push_back(to);
  }
  BERTH_RETURN_IF_ERROR(ValidateOrderProblem(problem));
  return problem;
}

std::vector<int> DepthFirstOrder(const OrderProblem& problem) {
  const OrderProblem reversed = Reversed(problem);  // its predecessors are our successors
  std::vector<int> left, order, ready;
  for (int node = problem.node_count(); node-- > 0;) {
    if (problem.predecessors[static_cast<size_t>(node)].empty()) ready.push_back(node);
  }
  for (const std::vector<int>& before : problem.predecessors) {
    left.push_back(static_cast<int>(before.size()));
  }
  while (!ready.empty()) {
    const int node = ready.back();
    ready.pop_back();
    order.push_back(node);
    const std::vector<int>& next = reversed.predecessors[static_cast<size_t>(node)];
    for (size_t i = next.size(); i-- > 0;) {
      if (--left[static_cast<size_t>(next[i])] == 0) ready.push_back(next[i]);
    }
  }
  return order;
}

}  // namespace berth
