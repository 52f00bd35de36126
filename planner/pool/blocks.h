// The problem as the solvers see it: alias groups merged into blocks, steps compressed to sections.
//
// A section is a maximal run of steps during which the set of live items does not change. A block
// is one thing to place: a single item, or an alias group, whose size may differ from section to
// section (the largest member live there) and which takes no bytes where no member is live. Its
// parts are disjoint, in order of time, and share the block's offset.
//
// The input must have passed ValidatePoolProblem. O(n log n).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/problem.h"

namespace berth {

inline constexpr int64_t kNoOffset = -1;

struct BlockPart {
  int32_t begin_section = 0;
  int32_t end_section = 0;  // exclusive
  int64_t size_bytes = 0;
};

struct Block {
  int32_t begin_section = 0;  // of the first part
  int32_t end_section = 0;    // of the last part
  int64_t size_bytes = 0;     // of the largest part
  int64_t alignment_bytes = 1;
  int64_t fixed_offset_bytes = kNoOffset;
  int64_t hint_offset_bytes = kNoOffset;
  int32_t first_part = 0;  // in BlockSet::parts
  int32_t part_count = 0;
};

struct BlockSet {
  std::vector<Block> blocks;
  std::vector<BlockPart> parts;
  std::vector<int64_t> section_steps;  // section k covers [section_steps[k], section_steps[k + 1])
  std::vector<int32_t> block_of_item;  // by position in PoolProblem::items
  int64_t bank_bytes = 0;              // PoolProblem::bank_bytes
  std::vector<std::vector<int32_t>> used_with;  // by block: PoolItem::used_with, ascending

  absl::Span<const BlockPart> Parts(const Block& block) const {
    return absl::MakeConstSpan(parts).subspan(block.first_part, block.part_count);
  }
  int32_t SectionCount() const {
    return section_steps.empty() ? 0 : static_cast<int32_t>(section_steps.size()) - 1;
  }
  int64_t LengthSteps(const Block& block) const {
    return section_steps[block.end_section] - section_steps[block.begin_section];
  }
};

// A block's part that begins or ends. Sorted by section, ends first: intervals are half-open.
struct PartEvent {
  int32_t section = 0;
  bool begins = false;
  int64_t size_bytes = 0;
};
std::vector<PartEvent> SortedPartEvents(absl::Span<const BlockPart> parts);

BlockSet MakeBlocks(const PoolProblem& problem);

// Bytes live in each section.
std::vector<int64_t> SectionLoads(const BlockSet& set);

// The highest end of a block.
int64_t HeightBytes(const BlockSet& set, absl::Span<const int64_t> block_offsets);

bool HasFixedBlocks(const BlockSet& set);

}  // namespace berth
