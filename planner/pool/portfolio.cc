#include "planner/pool/portfolio.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/pool/greedy.h"
#include "planner/pool/measures.h"
#include "planner/pool/time_order.h"

namespace berth {
namespace {

struct Entry {
  BlockMeasure primary;
  BlockMeasure secondary;
  FitPolicy policy;
};

// In the order of how often they win on traces of networks: a small budget runs only the first.
constexpr Entry kEntries[] = {
    {BlockMeasure::kConflicts, BlockMeasure::kSize, FitPolicy::kBestFit},
    {BlockMeasure::kEarliest, BlockMeasure::kLength, FitPolicy::kBestFit},
    {BlockMeasure::kConflictsTimesSize, BlockMeasure::kSize, FitPolicy::kFirstFit},
    {BlockMeasure::kSizeClass, BlockMeasure::kLength, FitPolicy::kFirstFit},
    {BlockMeasure::kSize, BlockMeasure::kLength, FitPolicy::kFirstFit},
    {BlockMeasure::kLength, BlockMeasure::kSize, FitPolicy::kBestFit},
    {BlockMeasure::kConflictsTimesSize, BlockMeasure::kSize, FitPolicy::kBestFit},
    {BlockMeasure::kSize, BlockMeasure::kLength, FitPolicy::kBestFit},
    {BlockMeasure::kEarliest, BlockMeasure::kSize, FitPolicy::kFirstFit},
    {BlockMeasure::kArea, BlockMeasure::kSize, FitPolicy::kFirstFit},
};
// From here on a greedy trial takes long enough to have a quick plan before it.
constexpr int64_t kLargeBlockCount = 4000;
constexpr Entry kByHint = {BlockMeasure::kHint, BlockMeasure::kSize, FitPolicy::kFirstFit};

void RunEntry(const BlockSet& set, const Entry& entry, GreedyPlacer* placer, WorkBudget* budget,
              Incumbent* incumbent) {
  const std::vector<int32_t> sequence =
      SequenceBlocks(MeasureBlocks(set, entry.primary), MeasureBlocks(set, entry.secondary));
  Trial trial = placer->Place(sequence, entry.policy, incumbent->height_bytes - 1, budget);
  incumbent->Offer(
      std::move(trial),
      fmt::format("{} by {}", entry.policy == FitPolicy::kFirstFit ? "first-fit" : "best-fit",
                  BlockMeasureName(entry.primary)));
}

bool HasHints(const BlockSet& set) {
  return std::any_of(set.blocks.begin(), set.blocks.end(),
                     [](const Block& block) { return block.hint_offset_bytes != kNoOffset; });
}

}  // namespace

void RunGreedyPortfolio(const BlockSet& set, int64_t target_bytes, WorkBudget* budget,
                        Incumbent* incumbent) {
  GreedyPlacer placer(set);
  if (std::ssize(set.blocks) >= kLargeBlockCount && !HasFixedBlocks(set)) {
    incumbent->Offer(PlaceInTimeOrder(set), "best-fit in order of time");
  }
  if (!incumbent->offset_bytes.empty()) placer.AllowStop();
  if (HasHints(set)) RunEntry(set, kByHint, &placer, budget, incumbent);
  for (const Entry& entry : kEntries) {
    const bool has_plan = !incumbent->offset_bytes.empty();
    if (has_plan && (incumbent->height_bytes <= target_bytes || budget->IsExhausted())) return;
    RunEntry(set, entry, &placer, budget, incumbent);
    if (!incumbent->offset_bytes.empty()) placer.AllowStop();
  }
}

}  // namespace berth
