#include "planner/pool/exact/model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace berth {
namespace {

using Entry = ExactModel::SectionEntry;
using Range = ExactModel::FixedRange;

// Every size, alignment and fixed offset is a multiple of it.
int64_t CommonUnit(const BlockSet& set) {
  int64_t unit = 0;
  bool is_aligned = false;
  for (const BlockPart& part : set.parts) unit = std::gcd(unit, part.size_bytes);
  for (const Block& block : set.blocks) {
    if (block.fixed_offset_bytes != kNoOffset) unit = std::gcd(unit, block.fixed_offset_bytes);
    is_aligned = is_aligned || block.alignment_bytes > 1;
  }
  if (!is_aligned) return std::max<int64_t>(unit, 1);
  // Alignments must stay powers of two: those below the unit fall away, those above are kept whole.
  return std::max<int64_t>(unit & -unit, 1);
}

struct SectionLists {
  std::vector<std::vector<Entry>> live;   // free blocks, by index
  std::vector<std::vector<Range>> fixed;  // by offset
};

bool IsWithin(const std::vector<Entry>& inner, const std::vector<Entry>& outer) {
  size_t at = 0;
  for (const Entry& entry : inner) {
    while (at < outer.size() && outer[at].block < entry.block) ++at;
    if (at == outer.size() || outer[at].block != entry.block || outer[at].size < entry.size) {
      return false;
    }
  }
  return true;
}

bool IsWithin(const std::vector<Range>& inner, const std::vector<Range>& outer) {
  return std::all_of(inner.begin(), inner.end(), [&](const Range& a) {
    return std::any_of(outer.begin(), outer.end(),
                       [&](const Range& b) { return a.begin >= b.begin && a.end <= b.end; });
  });
}

std::optional<SectionLists> ListSections(const BlockSet& set, const ExactModel& model,
                                         const std::vector<int32_t>& model_block,
                                         int64_t most_entries) {
  SectionLists lists;
  lists.live.resize(set.SectionCount());
  lists.fixed.resize(set.SectionCount());
  int64_t entries = 0;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    for (const BlockPart& part : set.Parts(set.blocks[i])) {
      entries += part.end_section - part.begin_section;
      if (entries > most_entries) return std::nullopt;
      const int64_t size = part.size_bytes / model.unit_bytes;
      const int64_t offset = set.blocks[i].fixed_offset_bytes / model.unit_bytes;
      for (int32_t k = part.begin_section; k < part.end_section; ++k) {
        if (model_block[i] >= 0) lists.live[k].push_back({model_block[i], size});
        if (model_block[i] < 0) lists.fixed[k].push_back({offset, offset + size});
      }
    }
  }
  return lists;
}

// Leaves out sections that a neighbour implies, again and again along a run of them.
SectionLists Reduce(SectionLists lists) {
  SectionLists kept;
  for (size_t k = 0; k < lists.live.size(); ++k) {
    if (lists.live[k].empty()) continue;
    if (!kept.live.empty() && IsWithin(lists.live[k], kept.live.back()) &&
        IsWithin(lists.fixed[k], kept.fixed.back())) {
      continue;
    }
    while (!kept.live.empty() && IsWithin(kept.live.back(), lists.live[k]) &&
           IsWithin(kept.fixed.back(), lists.fixed[k])) {
      kept.live.pop_back();
      kept.fixed.pop_back();
    }
    kept.live.push_back(std::move(lists.live[k]));
    kept.fixed.push_back(std::move(lists.fixed[k]));
  }
  for (auto& ranges : kept.fixed) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }
  return kept;
}

template <typename Value>
void Flatten(const std::vector<std::vector<Value>>& lists, std::vector<Value>* values,
             std::vector<int32_t>* first) {
  for (const auto& list : lists) {
    first->push_back(static_cast<int32_t>(values->size()));
    values->insert(values->end(), list.begin(), list.end());
  }
  first->push_back(static_cast<int32_t>(values->size()));
}

bool AddMeetings(const SectionLists& lists, int64_t most_pairs, ExactModel* model) {
  std::vector<std::vector<std::pair<int32_t, int64_t>>> sections_of(model->block_count);
  for (size_t k = 0; k < lists.live.size(); ++k) {
    for (const Entry& entry : lists.live[k]) {
      sections_of[entry.block].push_back({static_cast<int32_t>(k), entry.size});
    }
  }
  std::vector<int64_t> lift(model->block_count, 0);
  std::vector<int32_t> met;
  for (int32_t b = 0; b < model->block_count; ++b) {
    model->block_first.push_back(static_cast<int32_t>(model->block_sections.size()));
    model->meeting_first.push_back(static_cast<int32_t>(model->meetings.size()));
    met.clear();
    for (const auto& [section, size] : sections_of[b]) {
      model->block_sections.push_back(section);
      for (const Entry& entry : lists.live[section]) {
        if (lift[entry.block] == 0) met.push_back(entry.block);
        lift[entry.block] = std::max(lift[entry.block], size);
      }
    }
    std::sort(met.begin(), met.end());
    for (const int32_t other : met) {
      if (other != b) model->meetings.push_back({other, lift[other]});
      lift[other] = 0;
    }
    if (static_cast<int64_t>(model->meetings.size()) > most_pairs) return false;
    model->begin_section[b] = sections_of[b].front().first;
    model->end_section[b] = sections_of[b].back().first + 1;
  }
  model->block_first.push_back(static_cast<int32_t>(model->block_sections.size()));
  model->meeting_first.push_back(static_cast<int32_t>(model->meetings.size()));
  return true;
}

// Open ranges (end of fixed - ..): a block at offset o meets a fixed range [f, g) where
// f - size < o < g.
void AddForbidden(const SectionLists& lists, ExactModel* model) {
  std::vector<std::vector<Range>> forbidden(model->block_count);
  for (size_t k = 0; model->has_fixed && k < lists.live.size(); ++k) {
    for (const Entry& entry : lists.live[k]) {
      for (const Range& range : lists.fixed[k]) {
        forbidden[entry.block].push_back({range.begin - entry.size, range.end});
      }
    }
  }
  for (auto& ranges : forbidden) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (kept > 0 && ranges[i].begin < ranges[kept - 1].end) {
        ranges[kept - 1].end = std::max(ranges[kept - 1].end, ranges[i].end);
      } else {
        ranges[kept++] = ranges[i];
      }
    }
    ranges.resize(kept);
  }
  Flatten(forbidden, &model->forbidden, &model->forbidden_first);
}

// Blocks over the same sections may be swapped where they lie on each other, and any two that are
// alike may change places.
void FindSymmetries(const BlockSet& set, ExactModel* model) {
  const int32_t count = model->block_count;
  model->span_class.assign(count, -1);
  model->twin_before.assign(count, -1);
  std::map<std::vector<int64_t>, int32_t> classes, twins;
  std::vector<int64_t> key;
  for (int32_t b = 0; b < count; ++b) {
    key.clear();
    if (set.blocks[model->set_block[b]].part_count != 1) continue;
    for (const int32_t section : model->SectionsOf(b)) key.push_back(section);
    if (model->size[b] % model->alignment[b] == 0 && model->ForbiddenTo(b).empty()) {
      key.push_back(-model->alignment[b]);
      model->span_class[b] =
          classes.try_emplace(key, static_cast<int32_t>(classes.size())).first->second;
      key.pop_back();
    }
    key.push_back(-model->alignment[b]);
    key.push_back(-model->size[b]);
    const auto [entry, is_new] = twins.try_emplace(key, b);
    if (is_new) continue;
    model->twin_before[b] = entry->second;
    entry->second = b;
  }
}

}  // namespace

std::optional<ExactModel> MakeExactModel(const BlockSet& set, int64_t most_pairs) {
  ExactModel model;
  model.unit_bytes = CommonUnit(set);
  std::vector<int32_t> model_block(set.blocks.size(), -1);
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    const Block& block = set.blocks[i];
    if (block.fixed_offset_bytes != kNoOffset) {
      model.has_fixed = true;
      const int64_t end_bytes = block.fixed_offset_bytes + block.size_bytes;
      model.fixed_height = std::max(model.fixed_height, end_bytes / model.unit_bytes);
      continue;
    }
    model_block[i] = model.block_count++;
    model.set_block.push_back(static_cast<int32_t>(i));
    model.size.push_back(block.size_bytes / model.unit_bytes);
    model.alignment.push_back(std::max<int64_t>(block.alignment_bytes / model.unit_bytes, 1));
  }
  std::optional<SectionLists> lists = ListSections(set, model, model_block, most_pairs);
  if (!lists) return std::nullopt;
  const SectionLists reduced = Reduce(*std::move(lists));
  model.section_count = static_cast<int32_t>(reduced.live.size());
  model.begin_section.resize(model.block_count);
  model.end_section.resize(model.block_count);
  if (!AddMeetings(reduced, most_pairs, &model)) return std::nullopt;
  Flatten(reduced.live, &model.section_entries, &model.section_first);
  Flatten(reduced.fixed, &model.fixed, &model.fixed_first);
  AddForbidden(reduced, &model);
  for (const auto& live : reduced.live) {
    int64_t load = 0;
    for (const Entry& entry : live) load += entry.size;
    model.loads.push_back(load);
  }
  FindSymmetries(set, &model);
  return model;
}

}  // namespace berth
