#include "planner/pool/lower_bound.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/checked_math.h"

namespace berth {
namespace {

int64_t LeastAlignment(const BlockSet& set) {
  int64_t least_bytes = set.blocks.empty() ? 1 : set.blocks[0].alignment_bytes;
  for (const Block& block : set.blocks) least_bytes = std::min(least_bytes, block.alignment_bytes);
  return least_bytes;
}

}  // namespace

PoolLowerBound ComputeLowerBound(const BlockSet& set) {
  PoolLowerBound result;
  const int64_t alignment_bytes = LeastAlignment(set);
  int64_t live_bytes = 0, padded_bytes = 0;
  std::multiset<int64_t> pads;  // of the live blocks, where they have any
  for (const PartEvent& event : SortedPartEvents(set.parts)) {
    const int64_t padded = AlignUp(event.size_bytes, alignment_bytes);
    const int64_t pad = padded - event.size_bytes;
    live_bytes += event.begins ? event.size_bytes : -event.size_bytes;
    padded_bytes += event.begins ? padded : -padded;
    if (pad != 0 && event.begins) pads.insert(pad);
    if (pad != 0 && !event.begins) pads.erase(pads.find(pad));
    result.live_peak_bytes = std::max(result.live_peak_bytes, live_bytes);
    const int64_t bound_bytes = padded_bytes - (pads.empty() ? 0 : *pads.rbegin());
    if (bound_bytes > result.bound_bytes) {
      result.bound_bytes = bound_bytes;
      result.step = set.section_steps[event.section];
    }
  }
  for (const Block& block : set.blocks) {
    if (block.fixed_offset_bytes == kNoOffset) continue;
    for (const BlockPart& part : set.Parts(block)) {
      if (block.fixed_offset_bytes + part.size_bytes <= result.bound_bytes) continue;
      result.bound_bytes = block.fixed_offset_bytes + part.size_bytes;
      result.step = set.section_steps[part.begin_section];
    }
  }
  return result;
}

std::vector<int64_t> ItemsLiveAt(const PoolProblem& problem, int64_t step) {
  std::vector<int64_t> live;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolItem& item = problem.items[i];
    if (item.begin_step <= step && step < item.end_step) live.push_back(static_cast<int64_t>(i));
  }
  std::sort(live.begin(), live.end(), [&](int64_t a, int64_t b) {
    return std::make_tuple(-problem.items[a].size_bytes, a) <
           std::make_tuple(-problem.items[b].size_bytes, b);
  });
  return live;
}

}  // namespace berth
