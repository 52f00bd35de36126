#include "planner/order/solve.h"

#include <algorithm>
#include <memory>

#include "planner/order/plain_graph.h"
#include "planner/order/segment.h"

namespace berth {
namespace {

// A part of the order between two forced cuts. Its search is only made when it is the worst.
struct Part {
  int begin, end;  // in the starting order
  int64_t peak_bytes, lower_bound_bytes;
  int round = 0;
  std::unique_ptr<OrderSegment> segment;
};

std::vector<Part> SplitIntoParts(const OrderProblem& problem, const std::vector<int>& order) {
  const std::vector<int64_t> needs = StepNeeds(problem, order);
  std::vector<int> ends = ForcedCuts(problem, order);
  ends.push_back(problem.node_count());
  std::vector<Part> parts;
  int begin = 0;
  for (const int end : ends) {
    const int64_t peak_bytes = *std::max_element(needs.begin() + begin, needs.begin() + end);
    parts.push_back({begin, end, peak_bytes, end - begin == 1 ? peak_bytes : 0, 0, nullptr});
    begin = end;
  }
  return parts;
}

int64_t LowerBound(const std::vector<Part>& parts) {
  int64_t bound_bytes = 0;
  for (const Part& part : parts) bound_bytes = std::max(bound_bytes, part.lower_bound_bytes);
  return bound_bytes;
}

void ImprovePart(const OrderProblem& problem, const std::vector<int>& start, Part& part,
                 int64_t goal_bytes, const OrderSearchOptions& options, WorkBudget& budget) {
  if (part.segment == nullptr) {
    part.segment = std::make_unique<OrderSegment>(WindowOf(problem, start, part.begin, part.end),
                                                  options.max_sets);
  } else {
    part.segment->Improve(goal_bytes, part.round++, options.seed, budget);
  }
  part.peak_bytes = part.segment->peak_bytes();
  part.lower_bound_bytes = part.segment->lower_bound_bytes();
}

OrderSolution Assemble(const OrderProblem& problem, const std::vector<int>& start,
                       const std::vector<Part>& parts, const char* start_method) {
  OrderSolution solution;
  solution.method = start_method;
  int64_t worst_bytes = -1;
  for (const Part& part : parts) {
    for (int i = 0; i < part.end - part.begin; ++i) {
      const int local = part.segment ? part.segment->order()[static_cast<size_t>(i)] : i;
      solution.order.push_back(start[static_cast<size_t>(part.begin + local)]);
    }
    if (part.peak_bytes <= worst_bytes) continue;
    worst_bytes = part.peak_bytes;
    const bool is_start = part.segment == nullptr || part.segment->method() == nullptr;
    solution.method = is_start ? start_method : part.segment->method();
  }
  solution.peak_bytes = PeakOfOrder(problem, solution.order);
  solution.lower_bound_bytes = std::min(LowerBound(parts), solution.peak_bytes);
  solution.is_exact = solution.peak_bytes == solution.lower_bound_bytes;
  return solution;
}

}  // namespace

std::vector<int> ForcedCuts(const OrderProblem& problem, const std::vector<int>& order) {
  const size_t count = order.size();
  const size_t words = (count + 63) / 64;
  std::vector<size_t> position(count);
  for (size_t i = 0; i < count; ++i) position[static_cast<size_t>(order[i])] = i;
  // Ancestors by position. A cut at i is forced when every node from i on has all of [0, i) among
  // its ancestors: `complete` is the length of the prefix that the node does.
  std::vector<uint64_t> ancestors(count * words, 0);
  std::vector<size_t> complete(count, 0);
  for (size_t i = 0; i < count; ++i) {
    uint64_t* mine = &ancestors[i * words];
    for (const int before : problem.predecessors[static_cast<size_t>(order[i])]) {
      const size_t p = position[static_cast<size_t>(before)];
      const uint64_t* theirs = &ancestors[p * words];
      for (size_t w = 0; w <= p / 64; ++w) mine[w] |= theirs[w];
      mine[p / 64] |= uint64_t{1} << (p % 64);
    }
    size_t w = 0;
    while (w < words && mine[w] == ~uint64_t{0}) ++w;
    complete[i] = w < words ? w * 64 + static_cast<size_t>(__builtin_ctzll(~mine[w])) : w * 64;
  }
  std::vector<int> cuts;
  size_t least = count;
  for (size_t i = count; i-- > 1;) {
    least = std::min(least, complete[i]);
    if (least >= i) cuts.push_back(static_cast<int>(i));
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

OrderSolution SolveOrder(const OrderProblem& problem, const std::vector<int>& given,
                         const OrderSearchOptions& options) {
  const std::vector<int> depth_first = DepthFirstOrder(problem);
  const bool is_given_better = PeakOfOrder(problem, given) <= PeakOfOrder(problem, depth_first);
  const std::vector<int>& start = is_given_better ? given : depth_first;
  std::vector<Part> parts;
  if (problem.node_count() > 0) parts = SplitIntoParts(problem, start);
  WorkBudget budget{options.work_limit_units, options.should_stop, 0, false};
  while (!parts.empty() && !budget.IsExhausted()) {
    const int64_t bound_bytes = LowerBound(parts);
    const auto worst =
        std::max_element(parts.begin(), parts.end(),
                         [](const Part& a, const Part& b) { return a.peak_bytes < b.peak_bytes; });
    if (worst->peak_bytes <= bound_bytes) break;
    ImprovePart(problem, start, *worst, bound_bytes, options, budget);
  }
  OrderSolution solution =
      Assemble(problem, start, parts, is_given_better ? "given" : "depth-first");
  solution.is_reproducible = !budget.was_stopped;
  return solution;
}

}  // namespace berth
