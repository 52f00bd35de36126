// The quickest plan: blocks in order of time, as an allocator would see them come and go.
//
// Each block takes the tightest free range of bytes, or grows the top. Free ranges are merged when
// a block ends. An alias group is placed by its outline. O(n log n), 100k blocks in some 50 ms.
#pragma once

#include "planner/pool/blocks.h"
#include "planner/pool/trial.h"

namespace berth {

// The set must hold no fixed blocks.
Trial PlaceInTimeOrder(const BlockSet& set);

}  // namespace berth
