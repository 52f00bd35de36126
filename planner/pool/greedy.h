// Greedy placement: blocks one after another in a given sequence, each into the lowest gap that
// holds it (first-fit) or into the tightest one (best-fit).
//
// Invariants: fixed blocks are placed first; the result never overlaps; deterministic. Each block
// costs O((log sections + holes) log holes), see occupancy.h.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/blocks.h"
#include "planner/pool/measures.h"
#include "planner/pool/trial.h"
#include "planner/pool/work_budget.h"

namespace berth {

enum class FitPolicy : uint8_t { kFirstFit, kBestFit };

// Block indexes by falling `primary`, then `secondary`, then index.
std::vector<int32_t> SequenceBlocks(absl::Span<const double> primary,
                                    absl::Span<const double> secondary);

// Gives up at the first block that would end above `limit_bytes`. Blocks that are neither fixed nor
// in the sequence are left out: their offset is kNoOffset.
Trial PlaceGreedily(const BlockSet& set, absl::Span<const int32_t> sequence, FitPolicy policy,
                    int64_t limit_bytes, WorkBudget* budget);

}  // namespace berth
