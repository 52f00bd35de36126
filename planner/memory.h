// Order, storage and pool placement, chosen together: the DRAM half of a plan.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/graph.h"
#include "planner/order/order.h"
#include "planner/schedule/place.h"
#include "planner/storage/storage.h"

namespace berth {

struct DramPlan {
  OrderResult order;
  StorageOptions storage_options;  // of the storage; nothing on chip
  StoragePlan storage;
  PoolPlan pool;
};

// Permutes the nodes of `graph` and places every pool buffer. With a budget > 0 the plan is at most
// so many bytes high: where concat and slice views make it higher, because they keep whole buffers
// alive, a plan without them (which copies) is tried too. ResourceExhausted with the figures of the
// best plan if none is low enough. Without `reorder` the nodes stay where they are; without a
// search their order is looked for as briefly as their places.
absl::StatusOr<DramPlan> PlanDram(Graph& graph, const PlacePoolOptions& options, bool reorder);

}  // namespace berth
