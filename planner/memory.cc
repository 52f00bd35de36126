#include "planner/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace berth {
namespace {

struct Attempt {
  Graph graph;
  DramPlan plan;
  absl::Status status;  // of the placement
};

Attempt TryPlan(const Graph& graph, StorageOptions options, const PlacePoolOptions& place,
                bool reorder) {
  Attempt attempt;
  attempt.graph = graph;
  attempt.plan.order = OrderNodes(attempt.graph, options, place.search, place.stop);
  if (!reorder) {
    attempt.graph = graph;
    OrderResult& order = attempt.plan.order;
    order.peak_bytes = order.model_peak_bytes;
    order.is_exact = order.peak_bytes == order.lower_bound_bytes;
    order.method = "model";
  }
  options.explain = true;
  attempt.plan.storage_options = options;
  attempt.plan.storage = AssignStorage(attempt.graph, options);
  absl::StatusOr<PoolPlan> pool = PlacePool(attempt.plan.storage, place);
  attempt.status = pool.status();
  if (pool.ok()) attempt.plan.pool = *std::move(pool);
  return attempt;
}

}  // namespace

absl::StatusOr<DramPlan> PlanDram(Graph& graph, const PlacePoolOptions& options, bool reorder) {
  std::optional<Attempt> lowest;
  for (const bool views : {true, false}) {
    StorageOptions storage;
    storage.views = views;
    Attempt attempt = TryPlan(graph, storage, options, reorder);
    if (attempt.status.ok()) {
      graph = std::move(attempt.graph);
      return std::move(attempt.plan);
    }
    if (!absl::IsResourceExhausted(attempt.status)) return attempt.status;
    if (!lowest || attempt.plan.order.peak_bytes < lowest->plan.order.peak_bytes) {
      lowest = std::move(attempt);
    }
  }
  const OrderResult& order = lowest->plan.order;
  return Annotate(lowest->status,
                  fmt::format("pool budget of {} bytes ({} live at once in the best order found, "
                              "at least {} in any)",
                              options.budget_bytes, order.peak_bytes, order.lower_bound_bytes));
}

}  // namespace berth
