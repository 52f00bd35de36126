// Where every value stands and why, for the bundle's table of values.
#pragma once

#include <vector>

#include "kernels/graph.h"
#include "planner/storage/storage.h"
#include "runtime/bundle/contents.h"

namespace berth {

// `storage` is placed and explained; `pool_slots` are the emitted program's (planner/emit/emit.h).
// Constants are left out, and values without bytes.
std::vector<ValueInfo> DescribeValues(const Graph& graph, const StoragePlan& storage,
                                      const std::vector<uint32_t>& pool_slots);

}  // namespace berth
