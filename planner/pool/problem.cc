#include "planner/pool/problem.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/checked_math.h"
#include "base/status.h"

namespace berth {
namespace {

// Lengths in steps never overflow.
constexpr int64_t kMaxStep = int64_t{1} << 61;

absl::Status ValidateItem(const PoolItem& item) {
  if (item.size_bytes <= 0) {
    return InvalidArgument("{}: size is {} bytes, must be positive", DescribeItem(item),
                           item.size_bytes);
  }
  if (item.begin_step >= item.end_step) {
    return InvalidArgument("{}: live interval [{}, {}) is empty", DescribeItem(item),
                           item.begin_step, item.end_step);
  }
  if (item.begin_step < -kMaxStep || item.end_step > kMaxStep) {
    return InvalidArgument("{}: live interval [{}, {}) leaves [{}, {}]", DescribeItem(item),
                           item.begin_step, item.end_step, -kMaxStep, kMaxStep);
  }
  if (item.alignment_bytes <= 0 ||
      !std::has_single_bit(static_cast<uint64_t>(item.alignment_bytes))) {
    return InvalidArgument("{}: alignment {} is not a power of two", DescribeItem(item),
                           item.alignment_bytes);
  }
  if (item.alias_group < kNoAliasGroup) {
    return InvalidArgument("{}: alias group {} is negative", DescribeItem(item), item.alias_group);
  }
  if (!item.fixed_offset_bytes) return absl::OkStatus();
  if (*item.fixed_offset_bytes < 0) {
    return InvalidArgument("{}: fixed offset {} is negative", DescribeItem(item),
                           *item.fixed_offset_bytes);
  }
  if (*item.fixed_offset_bytes % item.alignment_bytes != 0) {
    return InvalidArgument("{}: fixed offset {} is not a multiple of its alignment {}",
                           DescribeItem(item), *item.fixed_offset_bytes, item.alignment_bytes);
  }
  return absl::OkStatus();
}

absl::Status ValidateUsedWith(const PoolProblem& problem) {
  for (const PoolItem& item : problem.items) {
    for (const int32_t other : item.used_with) {
      if (other >= 0 && static_cast<size_t>(other) < problem.items.size()) continue;
      return InvalidArgument("{}: used with item {} of {}", DescribeItem(item), other,
                             problem.items.size());
    }
  }
  return absl::OkStatus();
}

// Bounds every offset that a plan can hold: all items stacked above the highest fixed one.
absl::Status ValidateTotal(const PoolProblem& problem) {
  std::optional<int64_t> total = 0;
  int64_t highest_fixed_bytes = 0;
  for (const PoolItem& item : problem.items) {
    const int64_t fixed = item.fixed_offset_bytes.value_or(0);
    highest_fixed_bytes = std::max(highest_fixed_bytes, fixed);
    total = CheckedAdd(*total, item.size_bytes);
    if (total) total = CheckedAdd(*total, item.alignment_bytes);
    const std::optional<int64_t> top = total ? CheckedAdd(*total, highest_fixed_bytes) : total;
    if (!top || *top > kMostPoolBytes) {
      return InvalidArgument("{}: the sizes up to this item sum up to more than {} bytes",
                             DescribeItem(item), kMostPoolBytes);
    }
  }
  return absl::OkStatus();
}

// The first fixed member of each alias group: it fixes the whole group.
using FixedMembers = std::unordered_map<int64_t, const PoolItem*>;

FixedMembers FindFixedMembers(const PoolProblem& problem) {
  FixedMembers members;
  for (const PoolItem& item : problem.items) {
    if (item.alias_group == kNoAliasGroup || !item.fixed_offset_bytes) continue;
    members.try_emplace(item.alias_group, &item);
  }
  return members;
}

// Every member suits the offset of its group.
absl::Status ValidateGroups(const PoolProblem& problem, const FixedMembers& fixed_members) {
  for (const PoolItem& item : problem.items) {
    const auto entry = fixed_members.find(item.alias_group);
    if (entry == fixed_members.end()) continue;
    const int64_t offset_bytes = *entry->second->fixed_offset_bytes;
    if (item.fixed_offset_bytes.value_or(offset_bytes) != offset_bytes) {
      return InvalidArgument("{} and {} alias (group {}) but are fixed at offsets {} and {}",
                             DescribeItem(*entry->second), DescribeItem(item), item.alias_group,
                             offset_bytes, *item.fixed_offset_bytes);
    }
    if (offset_bytes % item.alignment_bytes != 0) {
      return InvalidArgument("{}: its alias {} is fixed at {}, not a multiple of its alignment {}",
                             DescribeItem(item), DescribeItem(*entry->second), offset_bytes,
                             item.alignment_bytes);
    }
  }
  return absl::OkStatus();
}

bool MayOverlap(const PoolItem& a, const PoolItem& b) {
  return a.alias_group != kNoAliasGroup && a.alias_group == b.alias_group;
}

struct FixedItem {
  const PoolItem* item;
  int64_t begin_bytes;
  int64_t end_bytes;
};

// Items with an offset of their own or of their group, by begin step.
std::vector<FixedItem> FixedItems(const PoolProblem& problem, const FixedMembers& fixed_members) {
  std::vector<FixedItem> fixed;
  for (const PoolItem& item : problem.items) {
    const auto entry = fixed_members.find(item.alias_group);
    const PoolItem& source = entry == fixed_members.end() ? item : *entry->second;
    if (!source.fixed_offset_bytes) continue;
    const int64_t offset_bytes = *source.fixed_offset_bytes;
    fixed.push_back({&item, offset_bytes, offset_bytes + item.size_bytes});
  }
  std::sort(fixed.begin(), fixed.end(), [](const FixedItem& a, const FixedItem& b) {
    return a.item->begin_step < b.item->begin_step;
  });
  return fixed;
}

absl::Status ValidateFixedOffsets(const PoolProblem& problem, const FixedMembers& fixed_members) {
  std::vector<FixedItem> live;
  for (const FixedItem& b : FixedItems(problem, fixed_members)) {
    std::erase_if(live,
                  [&](const FixedItem& old) { return old.item->end_step <= b.item->begin_step; });
    for (const FixedItem& a : live) {
      if (a.begin_bytes < b.end_bytes && b.begin_bytes < a.end_bytes &&
          !MayOverlap(*a.item, *b.item)) {
        return InvalidArgument("{} and {} are live together and fixed at [{}, {}) and [{}, {})",
                               DescribeItem(*a.item), DescribeItem(*b.item), a.begin_bytes,
                               a.end_bytes, b.begin_bytes, b.end_bytes);
      }
    }
    live.push_back(b);
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeItem(const PoolItem& item) {
  return item.name.empty() ? fmt::format("item {}", item.id)
                           : fmt::format("'{}' (item {})", item.name, item.id);
}

absl::Status ValidatePoolProblem(const PoolProblem& problem) {
  for (const PoolItem& item : problem.items) BERTH_RETURN_IF_ERROR(ValidateItem(item));
  if (problem.capacity_bytes && *problem.capacity_bytes < 0) {
    return InvalidArgument("the capacity is {} bytes, must not be negative",
                           *problem.capacity_bytes);
  }
  if (!problem.capacity_bytes && problem.objective != PoolObjective::kLowestHeight) {
    return InvalidArgument("this objective needs a capacity");
  }
  BERTH_RETURN_IF_ERROR(ValidateUsedWith(problem));
  BERTH_RETURN_IF_ERROR(ValidateTotal(problem));
  const FixedMembers fixed_members = FindFixedMembers(problem);
  BERTH_RETURN_IF_ERROR(ValidateGroups(problem, fixed_members));
  return ValidateFixedOffsets(problem, fixed_members);
}

}  // namespace berth
