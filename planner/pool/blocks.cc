#include "planner/pool/blocks.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace berth {
namespace {

std::vector<int64_t> SectionSteps(const PoolProblem& problem) {
  std::vector<int64_t> steps;
  steps.reserve(2 * problem.items.size());
  for (const PoolItem& item : problem.items) {
    steps.push_back(item.begin_step);
    steps.push_back(item.end_step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

int32_t SectionOf(const std::vector<int64_t>& steps, int64_t step) {
  return static_cast<int32_t>(std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
}

// The outline of overlapping members: for each run of sections, the largest member live there.
std::vector<BlockPart> MergeParts(const std::vector<BlockPart>& members) {
  if (members.size() == 1) return members;
  const std::vector<PartEvent> events = SortedPartEvents(members);
  std::vector<BlockPart> merged;
  std::multiset<int64_t> live_sizes;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].begins) {
      live_sizes.insert(events[i].size_bytes);
    } else {
      live_sizes.erase(live_sizes.find(events[i].size_bytes));
    }
    const bool section_continues =
        i + 1 < events.size() && events[i + 1].section == events[i].section;
    if (section_continues || live_sizes.empty()) continue;
    const BlockPart part = {events[i].section, events[i + 1].section, *live_sizes.rbegin()};
    if (!merged.empty() && merged.back().end_section == part.begin_section &&
        merged.back().size_bytes == part.size_bytes) {
      merged.back().end_section = part.end_section;
    } else {
      merged.push_back(part);
    }
  }
  return merged;
}

// Adds what the item asks of its block's offset.
void Constrain(const PoolItem& item, Block* block) {
  block->alignment_bytes = std::max(block->alignment_bytes, item.alignment_bytes);
  if (item.fixed_offset_bytes) block->fixed_offset_bytes = *item.fixed_offset_bytes;
  if (item.hint_offset_bytes) block->hint_offset_bytes = *item.hint_offset_bytes;
}

void AppendParts(const std::vector<BlockPart>& merged, Block* block,
                 std::vector<BlockPart>* parts) {
  block->first_part = static_cast<int32_t>(parts->size());
  block->part_count = static_cast<int32_t>(merged.size());
  block->begin_section = merged.front().begin_section;
  block->end_section = merged.back().end_section;
  for (const BlockPart& part : merged) {
    block->size_bytes = std::max(block->size_bytes, part.size_bytes);
    parts->push_back(part);
  }
}

void CollectUsedWith(const PoolProblem& problem, BlockSet& set) {
  set.bank_bytes = problem.bank_bytes;
  set.used_with.resize(set.blocks.size());
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const int32_t block = set.block_of_item[i];
    for (const int32_t other : problem.items[i].used_with) {
      if (set.block_of_item[static_cast<size_t>(other)] == block) continue;
      set.used_with[block].push_back(set.block_of_item[static_cast<size_t>(other)]);
    }
  }
  for (std::vector<int32_t>& blocks : set.used_with) {
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  }
}

}  // namespace

std::vector<PartEvent> SortedPartEvents(absl::Span<const BlockPart> parts) {
  std::vector<PartEvent> events;
  events.reserve(2 * parts.size());
  for (const BlockPart& part : parts) {
    events.push_back({part.begin_section, true, part.size_bytes});
    events.push_back({part.end_section, false, part.size_bytes});
  }
  std::sort(events.begin(), events.end(), [](const PartEvent& a, const PartEvent& b) {
    return std::tie(a.section, a.begins) < std::tie(b.section, b.begins);
  });
  return events;
}

BlockSet MakeBlocks(const PoolProblem& problem) {
  BlockSet set;
  set.section_steps = SectionSteps(problem);
  std::vector<std::vector<BlockPart>> members;  // by block
  std::unordered_map<int64_t, int32_t> block_of_group;
  for (const PoolItem& item : problem.items) {
    int32_t block_index = static_cast<int32_t>(set.blocks.size());
    if (item.alias_group != kNoAliasGroup) {
      block_index = block_of_group.try_emplace(item.alias_group, block_index).first->second;
    }
    if (block_index == static_cast<int32_t>(set.blocks.size())) {
      set.blocks.emplace_back();
      members.emplace_back();
    }
    members[block_index].push_back({SectionOf(set.section_steps, item.begin_step),
                                    SectionOf(set.section_steps, item.end_step), item.size_bytes});
    Constrain(item, &set.blocks[block_index]);
    set.block_of_item.push_back(block_index);
  }
  CollectUsedWith(problem, set);
  for (size_t i = 0; i < members.size(); ++i) {
    AppendParts(MergeParts(members[i]), &set.blocks[i], &set.parts);
  }
  return set;
}

std::vector<int64_t> SectionLoads(const BlockSet& set) {
  std::vector<int64_t> change(set.SectionCount() + 1, 0);
  for (const BlockPart& part : set.parts) {
    change[part.begin_section] += part.size_bytes;
    change[part.end_section] -= part.size_bytes;
  }
  for (size_t k = 1; k < change.size(); ++k) change[k] += change[k - 1];
  change.pop_back();
  return change;
}

int64_t HeightBytes(const BlockSet& set, absl::Span<const int64_t> block_offsets) {
  int64_t height_bytes = 0;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    height_bytes = std::max(height_bytes, block_offsets[i] + set.blocks[i].size_bytes);
  }
  return height_bytes;
}

bool HasFixedBlocks(const BlockSet& set) {
  return std::any_of(set.blocks.begin(), set.blocks.end(),
                     [](const Block& block) { return block.fixed_offset_bytes != kNoOffset; });
}

}  // namespace berth
