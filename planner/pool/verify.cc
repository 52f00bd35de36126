#include "planner/pool/verify.h"

#include <algorithm>
#include <map>

#include "base/checked_math.h"
#include "base/status.h"

namespace berth {
namespace {

absl::Status VerifyItem(const PoolItem& item, int64_t offset_bytes) {
  if (offset_bytes < 0) {
    return Internal("{} lies at the negative offset {}", DescribeItem(item), offset_bytes);
  }
  if (!CheckedAdd(offset_bytes, item.size_bytes)) {
    return Internal("{} at offset {} ends beyond int64", DescribeItem(item), offset_bytes);
  }
  if (offset_bytes % item.alignment_bytes != 0) {
    return Internal("{} lies at {}, not a multiple of its alignment {}", DescribeItem(item),
                    offset_bytes, item.alignment_bytes);
  }
  if (item.fixed_offset_bytes && *item.fixed_offset_bytes != offset_bytes) {
    return Internal("{} lies at {} but is fixed at {}", DescribeItem(item), offset_bytes,
                    *item.fixed_offset_bytes);
  }
  return absl::OkStatus();
}

// The numbers of an item in one place: the loop over all pairs reads nothing else.
struct Placed {
  int64_t begin_step;
  int64_t end_step;
  int64_t begin_bytes;
  int64_t end_bytes;
  int64_t alias_group;
};

bool IsAllowed(const Placed& a, const Placed& b) {
  if (a.alias_group != kNoAliasGroup && a.alias_group == b.alias_group) {
    return a.begin_bytes == b.begin_bytes;
  }
  const bool meet_in_time = a.begin_step < b.end_step && b.begin_step < a.end_step;
  const bool meet_in_space = a.begin_bytes < b.end_bytes && b.begin_bytes < a.end_bytes;
  return !meet_in_time || !meet_in_space;
}

absl::Status DescribePair(const PoolItem& a, const Placed& at, const PoolItem& b,
                          const Placed& bt) {
  if (a.alias_group != kNoAliasGroup && a.alias_group == b.alias_group) {
    return Internal("{} and {} alias but lie at {} and {}", DescribeItem(a), DescribeItem(b),
                    at.begin_bytes, bt.begin_bytes);
  }
  return Internal("{} at [{}, {}) and {} at [{}, {}) overlap while live in [{}, {}) and [{}, {})",
                  DescribeItem(a), at.begin_bytes, at.end_bytes, DescribeItem(b), bt.begin_bytes,
                  bt.end_bytes, a.begin_step, a.end_step, b.begin_step, b.end_step);
}

// O(n log n + pairs that are live together).
absl::Status VerifyPairs(const PoolProblem& problem, const std::vector<Placed>& placed) {
  std::map<int64_t, size_t> first_of_group;
  std::vector<size_t> by_begin(placed.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    by_begin[i] = i;
    if (placed[i].alias_group == kNoAliasGroup) continue;
    const size_t first = first_of_group.try_emplace(placed[i].alias_group, i).first->second;
    if (IsAllowed(placed[first], placed[i])) continue;
    return DescribePair(problem.items[first], placed[first], problem.items[i], placed[i]);
  }
  std::sort(by_begin.begin(), by_begin.end(),
            [&](size_t a, size_t b) { return placed[a].begin_step < placed[b].begin_step; });
  std::vector<size_t> live;
  for (const size_t i : by_begin) {
    std::erase_if(live, [&](size_t j) { return placed[j].end_step <= placed[i].begin_step; });
    for (const size_t j : live) {
      if (IsAllowed(placed[j], placed[i])) continue;
      return DescribePair(problem.items[j], placed[j], problem.items[i], placed[i]);
    }
    live.push_back(i);
  }
  return absl::OkStatus();
}

// What has one offset: an item, or all items of an alias group.
struct Buffer {
  int64_t alignment_bytes = 1;
  int64_t live_bytes = 0;      // at the step in question
  int64_t live_end_bytes = 0;  // offset + live_bytes
  bool is_fixed = false;
};

std::map<int64_t, Buffer> BuffersAt(const PoolProblem& problem, const PoolPlan& plan,
                                    int64_t step) {
  std::map<int64_t, Buffer> buffers;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolItem& item = problem.items[i];
    const bool is_alone = item.alias_group == kNoAliasGroup;
    Buffer& buffer = buffers[is_alone ? -2 - static_cast<int64_t>(i) : item.alias_group];
    buffer.alignment_bytes = std::max(buffer.alignment_bytes, item.alignment_bytes);
    buffer.is_fixed = buffer.is_fixed || item.fixed_offset_bytes.has_value();
    if (step < item.begin_step || item.end_step <= step) continue;
    buffer.live_bytes = std::max(buffer.live_bytes, item.size_bytes);
    buffer.live_end_bytes = plan.offset_bytes[i] + buffer.live_bytes;
  }
  return buffers;
}

// The bound that the buffers live at `step` justify: all rounded up to the least alignment but the
// one on top, or the end of a fixed one.
int64_t JustifiedBound(const PoolProblem& problem, const PoolPlan& plan, int64_t step) {
  const std::map<int64_t, Buffer> buffers = BuffersAt(problem, plan, step);
  if (buffers.empty()) return 0;
  int64_t alignment_bytes = buffers.begin()->second.alignment_bytes;
  for (const auto& [key, buffer] : buffers) {
    alignment_bytes = std::min(alignment_bytes, buffer.alignment_bytes);
  }
  int64_t sum_bytes = 0, largest_pad_bytes = 0, fixed_end_bytes = 0;
  for (const auto& [key, buffer] : buffers) {
    const int64_t padded_bytes = AlignUp(buffer.live_bytes, alignment_bytes);
    sum_bytes += padded_bytes;
    largest_pad_bytes = std::max(largest_pad_bytes, padded_bytes - buffer.live_bytes);
    if (buffer.is_fixed) fixed_end_bytes = std::max(fixed_end_bytes, buffer.live_end_bytes);
  }
  return std::max(sum_bytes - largest_pad_bytes, fixed_end_bytes);
}

absl::Status VerifyCertificate(const PoolProblem& problem, const PoolPlan& plan) {
  const int64_t justified_bytes = JustifiedBound(problem, plan, plan.lower_bound_step);
  const bool by_search = plan.lower_bound_proof == PoolBoundProof::kSearch;
  if (by_search && plan.lower_bound_bytes <= justified_bytes) {
    return Internal("the lower bound {} is by load, not by search", plan.lower_bound_bytes);
  }
  if (!by_search && plan.lower_bound_bytes > justified_bytes) {
    return Internal("the lower bound is {} but only {} bytes are live at its step {}",
                    plan.lower_bound_bytes, justified_bytes, plan.lower_bound_step);
  }
  if (plan.lower_bound_bytes > plan.height_bytes) {
    return Internal("the height {} is below the lower bound {}", plan.height_bytes,
                    plan.lower_bound_bytes);
  }
  const bool fits = !problem.capacity_bytes || plan.height_bytes <= *problem.capacity_bytes;
  const bool is_ruled_out =
      problem.capacity_bytes && plan.lower_bound_bytes > *problem.capacity_bytes;
  const bool is_consistent = (plan.status == PoolStatus::kOptimal && fits &&
                              plan.height_bytes == plan.lower_bound_bytes) ||
                             (plan.status == PoolStatus::kFeasible && fits) ||
                             (plan.status == PoolStatus::kInfeasible && is_ruled_out) ||
                             (plan.status == PoolStatus::kTimeout && !fits && !is_ruled_out);
  if (is_consistent) return absl::OkStatus();
  return Internal("status {} contradicts height {}, lower bound {} and capacity {}",
                  PoolStatusName(plan.status), plan.height_bytes, plan.lower_bound_bytes,
                  problem.capacity_bytes.value_or(-1));
}

}  // namespace

absl::Status VerifyPoolPlan(const PoolProblem& problem, const PoolPlan& plan) {
  const std::vector<PoolItem>& items = problem.items;
  if (plan.offset_bytes.size() != items.size()) {
    return Internal("{} offsets for {} items", plan.offset_bytes.size(), items.size());
  }
  int64_t height_bytes = 0;
  std::vector<Placed> placed;
  for (size_t i = 0; i < items.size(); ++i) {
    BERTH_RETURN_IF_ERROR(VerifyItem(items[i], plan.offset_bytes[i]));
    const int64_t end_bytes = plan.offset_bytes[i] + items[i].size_bytes;
    placed.push_back({items[i].begin_step, items[i].end_step, plan.offset_bytes[i], end_bytes,
                      items[i].alias_group});
    height_bytes = std::max(height_bytes, end_bytes);
  }
  BERTH_RETURN_IF_ERROR(VerifyPairs(problem, placed));
  if (height_bytes != plan.height_bytes) {
    return Internal("the height is given as {}, the items end at {}", plan.height_bytes,
                    height_bytes);
  }
  return VerifyCertificate(problem, plan);
}

}  // namespace berth
