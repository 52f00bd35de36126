#include "planner/pool/measures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace berth {
namespace {

std::vector<double> CountConflicts(const BlockSet& set) {
  std::vector<int32_t> begins, ends;
  for (const Block& block : set.blocks) {
    begins.push_back(block.begin_section);
    ends.push_back(block.end_section);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<double> counts;
  counts.reserve(set.blocks.size());
  for (const Block& block : set.blocks) {
    const auto begun = std::lower_bound(begins.begin(), begins.end(), block.end_section);
    const auto ended = std::upper_bound(ends.begin(), ends.end(), block.begin_section);
    counts.push_back(static_cast<double>((begun - begins.begin()) - (ended - ends.begin()) - 1));
  }
  return counts;
}

std::vector<double> PeakLoads(const BlockSet& set) {
  const std::vector<int64_t> loads = SectionLoads(set);
  std::vector<double> peaks;
  peaks.reserve(set.blocks.size());
  for (const Block& block : set.blocks) {
    peaks.push_back(static_cast<double>(
        *std::max_element(loads.begin() + block.begin_section, loads.begin() + block.end_section)));
  }
  return peaks;
}

template <typename Value>
std::vector<double> ForEachBlock(const BlockSet& set, const Value& value) {
  std::vector<double> values;
  values.reserve(set.blocks.size());
  for (const Block& block : set.blocks) values.push_back(static_cast<double>(value(block)));
  return values;
}

std::vector<double> TimesSize(const BlockSet& set, std::vector<double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= static_cast<double>(set.blocks[i].size_bytes);
  }
  return values;
}

// The peak load of each block over the highest of all.
std::vector<double> Tightness(const BlockSet& set) {
  std::vector<double> peaks = PeakLoads(set);
  const double highest = peaks.empty() ? 1 : *std::max_element(peaks.begin(), peaks.end());
  for (double& peak : peaks) peak /= highest;
  return peaks;
}

std::vector<double> TimesTightness(const BlockSet& set, std::vector<double> values) {
  constexpr double kSharpness = 8;
  const std::vector<double> tightness = Tightness(set);
  for (size_t i = 0; i < values.size(); ++i) values[i] *= std::pow(tightness[i], kSharpness);
  return values;
}

std::vector<double> LoadThenLength(const BlockSet& set) {
  constexpr double kLoadFirst = 100;  // lengths are at most 1
  std::vector<double> values = Tightness(set);
  const std::vector<double> lengths = MeasureBlocks(set, BlockMeasure::kLength);
  const double longest = lengths.empty() ? 1 : *std::max_element(lengths.begin(), lengths.end());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = kLoadFirst * values[i] + lengths[i] / longest;
  }
  return values;
}

double HintRank(const Block& block) {
  if (block.hint_offset_bytes == kNoOffset) return std::numeric_limits<double>::lowest();
  return -static_cast<double>(block.hint_offset_bytes);
}

}  // namespace

std::string_view BlockMeasureName(BlockMeasure measure) {
  switch (measure) {
    case BlockMeasure::kSize:
      return "size";
    case BlockMeasure::kSizeClass:
      return "size class";
    case BlockMeasure::kLength:
      return "length";
    case BlockMeasure::kArea:
      return "area";
    case BlockMeasure::kEarliest:
      return "begin";
    case BlockMeasure::kConflicts:
      return "conflicts";
    case BlockMeasure::kConflictsTimesSize:
      return "conflicts x size";
    case BlockMeasure::kLoadTimesSize:
      return "load x size";
    case BlockMeasure::kTightLength:
      return "tightness x length";
    case BlockMeasure::kTightArea:
      return "tightness x area";
    case BlockMeasure::kLengthRootSize:
      return "length x root of size";
    case BlockMeasure::kLoadThenLength:
      return "load, then length";
    case BlockMeasure::kHint:
      return "hint";
  }
  return "unknown";
}

std::vector<double> MeasureBlocks(const BlockSet& set, BlockMeasure measure) {
  switch (measure) {
    case BlockMeasure::kSize:
      return ForEachBlock(set, [](const Block& block) { return block.size_bytes; });
    case BlockMeasure::kSizeClass:
      return ForEachBlock(set, [](const Block& block) {
        return std::bit_width(static_cast<uint64_t>(block.size_bytes));
      });
    case BlockMeasure::kLength:
      return ForEachBlock(set, [&](const Block& block) { return set.LengthSteps(block); });
    case BlockMeasure::kArea:
      return TimesSize(set, MeasureBlocks(set, BlockMeasure::kLength));
    case BlockMeasure::kEarliest:
      return ForEachBlock(set, [](const Block& block) { return -block.begin_section; });
    case BlockMeasure::kConflicts:
      return CountConflicts(set);
    case BlockMeasure::kConflictsTimesSize:
      return TimesSize(set, CountConflicts(set));
    case BlockMeasure::kLoadTimesSize:
      return TimesSize(set, PeakLoads(set));
    case BlockMeasure::kTightLength:
      return TimesTightness(set, MeasureBlocks(set, BlockMeasure::kLength));
    case BlockMeasure::kTightArea:
      return TimesTightness(set, MeasureBlocks(set, BlockMeasure::kArea));
    case BlockMeasure::kLengthRootSize:
      return ForEachBlock(set, [&](const Block& block) {
        return static_cast<double>(set.LengthSteps(block)) *
               std::sqrt(static_cast<double>(block.size_bytes));
      });
    case BlockMeasure::kLoadThenLength:
      return LoadThenLength(set);
    case BlockMeasure::kHint:
      return ForEachBlock(set, HintRank);
  }
  return {};
}

}  // namespace berth
