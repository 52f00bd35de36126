#include "planner/pool/neighbourhood.h"

#include <algorithm>
#include <optional>
#include <random>

#include "planner/pool/exact/search.h"

namespace berth {
namespace {

constexpr int64_t kMostPairs = 400'000;
constexpr int64_t kTryUnits = 400'000;
constexpr int64_t kSliceUnits = 50'000;
constexpr int kTriesForBlock = 8;
constexpr int64_t kLeastFreed = 12;
constexpr int64_t kMostFreed = 160;
constexpr int64_t kFirstStepShare = 4;   // of the gap
constexpr int64_t kLastStepShare = 512;  // smaller steps are not worth their work

bool MeetInTime(const Block& a, const Block& b) {
  return a.begin_section < b.end_section && b.begin_section < a.end_section;
}

class Neighbourhoods {
 public:
  Neighbourhoods(const BlockSet& set, uint64_t seed, WorkBudget* budget, Incumbent* incumbent)
      : set_(set), random_(seed), budget_(budget), incumbent_(incumbent) {}

  // True when all blocks end at or below the target.
  bool LowerTo(int64_t target_bytes) {
    offsets_ = incumbent_->offset_bytes;
    for (size_t b = 0; b < set_.blocks.size(); ++b) {
      if (End(static_cast<int32_t>(b)) <= target_bytes) continue;
      if (set_.blocks[b].fixed_offset_bytes != kNoOffset) return false;
      if (!LowerBlock(static_cast<int32_t>(b), target_bytes)) return false;
    }
    incumbent_->Offer({.is_complete = true,
                       .height_bytes = HeightBytes(set_, offsets_),
                       .offset_bytes = offsets_},
                      "large-neighbourhood search");
    return true;
  }

 private:
  int64_t End(int32_t block) const { return offsets_[block] + set_.blocks[block].size_bytes; }

  bool LowerBlock(int32_t block, int64_t target_bytes) {
    int64_t freed = kLeastFreed;
    for (int i = 0; i < kTriesForBlock && !budget_->IsExhausted(); ++i) {
      if (PlaceAnew(ChooseFreed(block, freed), target_bytes)) return true;
      freed = std::min(freed * 3 / 2, kMostFreed);
    }
    return false;
  }

  // The block, and of those that meet it in time the highest ones, with some chance.
  std::vector<int32_t> ChooseFreed(int32_t block, int64_t count) {
    std::vector<std::pair<double, int32_t>> ranked;
    for (size_t i = 0; i < set_.blocks.size(); ++i) {
      const auto other = static_cast<int32_t>(i);
      if (other == block || set_.blocks[i].fixed_offset_bytes != kNoOffset ||
          !MeetInTime(set_.blocks[i], set_.blocks[block])) {
        continue;
      }
      const double draw = static_cast<double>(random_() >> 11) * 0x1p-53;
      ranked.push_back({-static_cast<double>(End(other)) * (0.5 + draw), other});
    }
    budget_->Spend(std::ssize(set_.blocks) / 2);
    const auto kept = std::min<size_t>(ranked.size(), static_cast<size_t>(count - 1));
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                      ranked.end());
    std::vector<int32_t> freed = {block};
    for (size_t i = 0; i < kept; ++i) freed.push_back(ranked[i].second);
    return freed;
  }

  // The freed blocks, and as fixed ones all that meet them below the target, in the sections of the
  // freed ones. What lies above the target has its own turn.
  BlockSet Window(const std::vector<int32_t>& freed, int64_t target_bytes) const {
    int32_t begin = set_.SectionCount(), end = 0;
    std::vector<bool> is_freed(set_.blocks.size(), false);
    for (const int32_t b : freed) {
      begin = std::min(begin, set_.blocks[b].begin_section);
      end = std::max(end, set_.blocks[b].end_section);
      is_freed[b] = true;
    }
    BlockSet window;
    for (int32_t k = begin; k <= end; ++k) window.section_steps.push_back(k);
    for (const int32_t b : freed) {
      AddClipped(b, kNoOffset, begin, end, set_.blocks[b].size_bytes, &window);
    }
    for (size_t b = 0; b < set_.blocks.size(); ++b) {
      const Block& block = set_.blocks[b];
      const int64_t most_bytes = target_bytes - offsets_[b];
      if (is_freed[b] || block.begin_section >= end || block.end_section <= begin ||
          most_bytes <= 0) {
        continue;
      }
      AddClipped(static_cast<int32_t>(b), offsets_[b], begin, end, most_bytes, &window);
    }
    return window;
  }

  void AddClipped(int32_t index, int64_t fixed_bytes, int32_t begin, int32_t end,
                  int64_t most_bytes, BlockSet* window) const {
    Block block = set_.blocks[index];
    const auto first = static_cast<int32_t>(window->parts.size());
    for (const BlockPart& part : set_.Parts(block)) {
      const int32_t from = std::max(part.begin_section, begin) - begin;
      const int32_t to = std::min(part.end_section, end) - begin;
      if (from < to) window->parts.push_back({from, to, std::min(part.size_bytes, most_bytes)});
    }
    block.first_part = first;
    block.part_count = static_cast<int32_t>(window->parts.size()) - first;
    if (block.part_count == 0) return;
    block.begin_section = window->parts[first].begin_section;
    block.end_section = window->parts.back().end_section;
    block.size_bytes = std::min(block.size_bytes, most_bytes);
    block.fixed_offset_bytes = fixed_bytes;
    window->blocks.push_back(block);
  }

  bool PlaceAnew(const std::vector<int32_t>& freed, int64_t target_bytes) {
    const BlockSet window = Window(freed, target_bytes);
    budget_->Spend(std::ssize(set_.blocks) + std::ssize(window.parts));
    const std::optional<ExactModel> model = MakeExactModel(window, kMostPairs);
    if (!model) return false;
    ExactStrategy strategy = {.noise = 0.2, .restart_units = kTryUnits / 8, .seed = random_()};
    for (const int32_t b : model->set_block) {
      const Block& block = window.blocks[b];
      strategy.priorities.push_back(static_cast<double>(block.end_section - block.begin_section) *
                                    static_cast<double>(block.size_bytes));
    }
    ExactSearch search(*model, std::move(strategy));
    search.SetHeight(target_bytes / model->unit_bytes);
    ExactOutcome outcome = ExactOutcome::kUndecided;
    while (outcome == ExactOutcome::kUndecided && search.spent_units() < kTryUnits &&
           !budget_->IsStopped()) {
      outcome = search.Run(kSliceUnits);
    }
    budget_->Spend(search.spent_units() + std::ssize(model->meetings));
    if (outcome != ExactOutcome::kFound) return false;
    for (size_t i = 0; i < model->set_block.size(); ++i) {
      offsets_[freed[model->set_block[i]]] = search.offsets()[i] * model->unit_bytes;
    }
    return true;
  }

  const BlockSet& set_;
  std::mt19937_64 random_;
  WorkBudget* budget_;
  Incumbent* incumbent_;
  std::vector<int64_t> offsets_;
};

}  // namespace

void ImproveByNeighbourhoods(const BlockSet& set, int64_t lower_bound_bytes, int64_t target_bytes,
                             uint64_t seed, WorkBudget* budget, Incumbent* incumbent) {
  Neighbourhoods neighbourhoods(set, seed, budget, incumbent);
  for (int64_t share = kFirstStepShare;
       incumbent->height_bytes > std::max(target_bytes, lower_bound_bytes) &&
       share <= kLastStepShare && !budget->IsExhausted();) {
    const int64_t gap_bytes = incumbent->height_bytes - lower_bound_bytes;
    const int64_t step_bytes = std::max<int64_t>(gap_bytes / share, 1);
    if (neighbourhoods.LowerTo(std::max(incumbent->height_bytes - step_bytes, target_bytes))) {
      share = std::max(share / 2, kFirstStepShare);
    } else {
      share = share * 2;
    }
    // Nothing helped at any step: start over, the draws are others.
    if (share > kLastStepShare) share = kLastStepShare / 4;
  }
}

}  // namespace berth
