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
#include "planner/pool/occupancy.h"
#include "planner/pool/trial.h"
#include "planner/pool/work_budget.h"

namespace berth {

enum class FitPolicy : uint8_t { kFirstFit, kBestFit };

// Block indexes by falling `primary`, then `secondary`, then index.
std::vector<int32_t> SequenceBlocks(absl::Span<const double> primary,
                                    absl::Span<const double> secondary);

// Places many sequences of one set; keeps its memory from one to the next.
class GreedyPlacer {
 public:
  explicit GreedyPlacer(const BlockSet& set);  // `set` must outlive the placer

  // Gives up at the first block that would end above `limit_bytes`. Blocks that are neither fixed
  // nor in the sequence are left out: their offset is kNoOffset.
  // Once told so it also gives up, incomplete and with none blocked, when the budget's stop signal
  // says so.
  Trial Place(absl::Span<const int32_t> sequence, FitPolicy policy, int64_t limit_bytes,
              WorkBudget* budget);

  void AllowStop() { may_stop_ = true; }

 private:
  int64_t ChooseOffset(const Block& block, FitPolicy policy);
  void CollectForbidden(const Block& block);
  void Put(int32_t block, int64_t offset_bytes, Trial* trial);

  const BlockSet& set_;
  Occupancy occupancy_;
  std::vector<ByteRange> forbidden_;
  int64_t work_units_ = 0;
  bool may_stop_ = false;
};

}  // namespace berth
