#include "planner/order/windows.h"

#include <algorithm>
#include <optional>

#include "planner/order/exact.h"
#include "planner/order/state.h"

namespace berth {
namespace {

constexpr int kWindowSizes[] = {16, 32, 64, 128};
constexpr size_t kMaxSets = 200'000;

struct Window {
  int begin, end;
};

// Windows of one size that hold the step: in their middle, near their end, near their begin.
std::vector<Window> WindowsAround(int step, int node_count, int size) {
  std::vector<Window> windows;
  for (const int lead : {size / 2, size - size / 8 - 1, size / 8}) {
    const int begin = std::clamp(step - lead, 0, std::max(0, node_count - size));
    windows.push_back({begin, std::min(node_count, begin + size)});
    if (windows.back().end - windows.back().begin == node_count) break;
  }
  return windows;
}

// An order of the problem within the limit, searched from both ends.
std::optional<std::vector<int>> OrderWithin(const OrderProblem& problem, int64_t limit_bytes,
                                            int64_t units, WorkBudget& budget) {
  for (const bool is_reversed : {true, false}) {
    const OrderInstance instance(is_reversed ? Reversed(problem) : problem);
    OrderDecision decision(instance, kMaxSets);
    WorkBudget share{std::min(units, budget.LeftUnits()), budget.should_stop, 0, false};
    std::vector<int> order;
    const OrderVerdict verdict = decision.Within(limit_bytes, share, &order);
    budget.Spend(share.spent_units + problem.node_count());
    budget.was_stopped = budget.was_stopped || share.was_stopped;
    if (verdict == OrderVerdict::kImpossible) return std::nullopt;
    if (verdict != OrderVerdict::kFound) continue;
    if (is_reversed) std::reverse(order.begin(), order.end());
    return order;
  }
  return std::nullopt;
}

// Rearranges a window around the step so that each of its steps needs less than the peak.
bool LowerStep(const OrderProblem& problem, std::vector<int>& order, int step, int64_t peak_bytes,
               int64_t window_units, WorkBudget& budget) {
  for (const int size : kWindowSizes) {
    for (const Window& window : WindowsAround(step, problem.node_count(), size)) {
      if (budget.IsExhausted()) return false;
      const auto inner = OrderWithin(WindowOf(problem, order, window.begin, window.end),
                                     peak_bytes - 1, window_units, budget);
      budget.Spend(static_cast<int64_t>(problem.buffers.size()));
      if (!inner) continue;
      const std::vector<int> before(order.begin() + window.begin, order.begin() + window.end);
      for (size_t i = 0; i < inner->size(); ++i) {
        order[static_cast<size_t>(window.begin) + i] = before[static_cast<size_t>((*inner)[i])];
      }
      return true;
    }
    if (size >= problem.node_count()) break;
  }
  return false;
}

}  // namespace

bool ImproveWindows(const OrderProblem& problem, std::vector<int>& order, int64_t goal_bytes,
                    int64_t window_units, WorkBudget& budget) {
  int64_t first_peak_bytes = -1;
  while (true) {
    const std::vector<int64_t> needs = StepNeeds(problem, order);
    const auto peak = std::max_element(needs.begin(), needs.end());
    if (peak == needs.end()) return false;
    if (first_peak_bytes < 0) first_peak_bytes = *peak;
    const int step = static_cast<int>(peak - needs.begin());
    if (*peak <= goal_bytes || !LowerStep(problem, order, step, *peak, window_units, budget)) {
      return *peak < first_peak_bytes;
    }
  }
}

}  // namespace berth
