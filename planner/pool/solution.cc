#include "planner/pool/solution.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace berth {

std::string_view PoolStatusName(PoolStatus status) {
  switch (status) {
    case PoolStatus::kOptimal:
      return "optimal";
    case PoolStatus::kFeasible:
      return "feasible";
    case PoolStatus::kInfeasible:
      return "infeasible";
    case PoolStatus::kTimeout:
      return "timeout";
  }
  return "unknown";
}

std::string_view PoolBoundProofName(PoolBoundProof proof) {
  return proof == PoolBoundProof::kLoad ? "load at step" : "search";
}

std::string_view PoolConflictProofName(PoolConflictProof proof) {
  switch (proof) {
    case PoolConflictProof::kLoad:
      return "load at step";
    case PoolConflictProof::kSearch:
      return "search";
    case PoolConflictProof::kNone:
      return "none";
  }
  return "unknown";
}

double FragmentationRatio(const PoolPlan& plan) {
  if (plan.live_peak_bytes == 0) return 1.0;
  return static_cast<double>(plan.height_bytes) / static_cast<double>(plan.live_peak_bytes);
}

std::string DumpPoolPlan(const PoolProblem& problem, const PoolPlan& plan) {
  std::string text = fmt::format(
      "pool {}: height {} bytes, lower bound {} at step {}, live peak {}, {} items, by {}\n",
      PoolStatusName(plan.status), plan.height_bytes, plan.lower_bound_bytes, plan.lower_bound_step,
      plan.live_peak_bytes, problem.items.size(), plan.method);
  std::vector<size_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const PoolItem &x = problem.items[a], &y = problem.items[b];
    return std::tie(x.begin_step, plan.offset_bytes[a], a) <
           std::tie(y.begin_step, plan.offset_bytes[b], b);
  });
  for (size_t index : order) {
    const PoolItem& item = problem.items[index];
    const int64_t offset_bytes = plan.offset_bytes[index];
    fmt::format_to(std::back_inserter(text), "  [{}, {}) at [{}, {}) {}\n", item.begin_step,
                   item.end_step, offset_bytes, offset_bytes + item.size_bytes, DescribeItem(item));
  }
  return text + DescribeConflict(problem, plan);
}

std::string DescribeConflict(const PoolProblem& problem, const PoolPlan& plan, int max_items) {
  if (!plan.conflict) return "";
  const PoolConflict& conflict = *plan.conflict;
  std::string text =
      fmt::format("{} {} step {}{}: {} items need {} bytes, {} are available, {} too many:",
                  plan.status == PoolStatus::kInfeasible ? "does not fit" : "no fitting plan found",
                  conflict.proof == PoolConflictProof::kSearch ? "about" : "at", conflict.step,
                  conflict.proof == PoolConflictProof::kSearch ? " (proved by search)" : "",
                  conflict.items.size(), conflict.required_bytes, conflict.available_bytes,
                  conflict.excess_bytes);
  const size_t shown = std::min(conflict.items.size(), static_cast<size_t>(max_items));
  for (size_t i = 0; i < shown; ++i) {
    const PoolItem& item = problem.items[conflict.items[i]];
    fmt::format_to(std::back_inserter(text), "{} {} {} bytes", i == 0 ? "" : ",",
                   DescribeItem(item), item.size_bytes);
  }
  if (shown < conflict.items.size()) {
    fmt::format_to(std::back_inserter(text), ", and {} more", conflict.items.size() - shown);
  }
  return text + "\n";
}

}  // namespace berth
