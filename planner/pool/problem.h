// The placement problem: where each item of one address space goes (DRAM pool, scratchpad or
// accumulators; the same problem for all three).
//
// Time is counted in steps (indexes of commands or of schedule positions) and live intervals are
// half-open: two items meet in time when each begins before the other ends. Items of one alias
// group are one buffer seen several times: they share their offset and may be live together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace berth {

inline constexpr int64_t kNoAliasGroup = -1;

// Of all sizes and alignments above the highest fixed offset: no plan of a valid problem is higher.
// Far enough below the end of int64 that three of them can be added up.
inline constexpr int64_t kMostPoolBytes = int64_t{1} << 61;

struct PoolItem {
  int64_t id = 0;                             // the caller's handle; only reported back
  int64_t begin_step = 0;                     // first step at which the item is live
  int64_t end_step = 0;                       // first step at which it is live no more
  int64_t size_bytes = 0;                     // > 0
  int64_t alignment_bytes = 1;                // a power of two
  std::optional<int64_t> fixed_offset_bytes;  // must lie exactly here
  std::optional<int64_t> hint_offset_bytes;   // lay here in an earlier plan; only advice
  int64_t alias_group = kNoAliasGroup;        // items of one group (>= 0) share one offset
  // Positions of items that commands use together with this one: they are better not in one bank
  // (PoolProblem::bank_bytes). Only advice, to kFitThenReuse.
  std::vector<int32_t> used_with;
  std::string name;  // for messages
};

enum class PoolObjective : uint8_t {
  kLowestHeight,  // DRAM: the fewest bytes, whatever the capacity
  kFit,           // any plan within the capacity
  kFitThenReuse,  // scratchpad: within the capacity, then the longest time before bytes are reused
};

struct PoolProblem {
  std::vector<PoolItem> items;
  std::optional<int64_t> capacity_bytes;  // required by kFit and kFitThenReuse
  PoolObjective objective = PoolObjective::kLowestHeight;
  int64_t bank_bytes = 0;  // consecutive bytes that share ports; 0: no banks
};

// "'name' (item 7)", or "item 7" where the item has no name.
std::string DescribeItem(const PoolItem& item);

// InvalidArgument, naming the item, for what no plan can satisfy or what is not a problem at all:
// sizes <= 0, empty intervals, alignments that are not powers of two, fixed offsets that are
// negative, misaligned, or contradict each other, positions that are none, and sums that leave
// int64. O(n log n) plus the pairs of fixed items that are live together.
absl::Status ValidatePoolProblem(const PoolProblem& problem);

}  // namespace berth
