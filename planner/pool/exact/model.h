// The placement problem as the exact search sees it: flat arrays over reduced sections.
//
// All bytes are divided by their greatest common divisor (units), so that a search never tries
// heights that no sum of sizes reaches. A section whose blocks all live in a neighbouring section
// too (with no smaller sizes there) is left out: whatever holds there holds here. Fixed blocks are
// no blocks of the model: they are ranges of offsets at which the others must not lie.
//
// Invariants: the entries of a section and of a block list the same pairs (section, block) twice;
// meetings are symmetric. Memory and time O(entries + pairs of blocks that meet): MakeExactModel
// refuses problems with more pairs than asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/blocks.h"
#include "planner/pool/occupancy.h"
#include "planner/pool/problem.h"

namespace berth {

// Above every offset, and may still have the size of every block added.
inline constexpr int64_t kNeverFits = 2 * kMostPoolBytes;

struct ExactModel {
  struct SectionEntry {
    int32_t block;
    int64_t size;  // of the block's part here
  };
  struct Meeting {  // with a block that is live at the same time
    int32_t block;
    int64_t lift;  // what this block takes below the other where they meet
  };
  struct FixedRange {
    int64_t begin;
    int64_t end;
  };

  int64_t unit_bytes = 1;
  int32_t block_count = 0;  // of free blocks; fixed ones are left out
  int32_t section_count = 0;
  std::vector<int32_t> set_block;  // index in the BlockSet
  std::vector<int64_t> size, alignment;
  std::vector<int32_t> begin_section, end_section;  // span, reduced sections
  std::vector<int32_t> span_class;   // equal for blocks that may be stacked either way; -1: none
  std::vector<int32_t> twin_before;  // the block just like this one with the next lower index; -1
  std::vector<int64_t> loads;        // by section, free blocks only
  int64_t fixed_height = 0;          // highest end of a fixed block
  bool has_fixed = false;

  absl::Span<const SectionEntry> Live(int32_t section) const {
    return Slice(section_entries, section_first, section);
  }
  absl::Span<const int32_t> SectionsOf(int32_t block) const {
    return Slice(block_sections, block_first, block);
  }
  absl::Span<const Meeting> MeetingsOf(int32_t block) const {
    return Slice(meetings, meeting_first, block);
  }
  // Offsets strictly inside these are forbidden to the block; disjoint, in order.
  absl::Span<const FixedRange> ForbiddenTo(int32_t block) const {
    return Slice(forbidden, forbidden_first, block);
  }
  absl::Span<const FixedRange> FixedIn(int32_t section) const {
    return Slice(fixed, fixed_first, section);
  }
  // The lowest offset >= `least` that the block may have, as far as fixed blocks are concerned.
  int64_t FitAtLeast(int32_t block, int64_t least) const {
    const int64_t mask = alignment[block] - 1;
    int64_t offset = (least + mask) & ~mask;
    if (has_fixed) {
      for (const FixedRange& range : ForbiddenTo(block)) {
        if (offset > range.begin && offset < range.end) offset = (range.end + mask) & ~mask;
      }
    }
    return offset;
  }

  template <typename Value>
  static absl::Span<const Value> Slice(const std::vector<Value>& values,
                                       const std::vector<int32_t>& first, int32_t index) {
    return {values.data() + first[index], static_cast<size_t>(first[index + 1] - first[index])};
  }
  std::vector<SectionEntry> section_entries;
  std::vector<int32_t> block_sections;
  std::vector<Meeting> meetings;
  std::vector<FixedRange> forbidden, fixed;
  std::vector<int32_t> section_first, block_first, meeting_first, forbidden_first, fixed_first;
};

// Empty where more than `most_pairs` pairs of blocks meet or live in sections.
std::optional<ExactModel> MakeExactModel(const BlockSet& set, int64_t most_pairs);

}  // namespace berth
