#include "planner/pool/occupancy.h"

#include <algorithm>
#include <bit>

namespace berth {
namespace {

void AddToUnion(ByteRange bytes, std::vector<ByteRange>* ranges) {
  // The ranges that the new one meets or touches: they become one.
  const auto first = std::lower_bound(
      ranges->begin(), ranges->end(), bytes.begin_bytes,
      [](const ByteRange& range, int64_t begin_bytes) { return range.end_bytes < begin_bytes; });
  auto last = first;
  while (last != ranges->end() && last->begin_bytes <= bytes.end_bytes) ++last;
  if (first == last) {
    ranges->insert(first, bytes);
    return;
  }
  first->begin_bytes = std::min(first->begin_bytes, bytes.begin_bytes);
  first->end_bytes = std::max(std::prev(last)->end_bytes, bytes.end_bytes);
  ranges->erase(first + 1, last);
}

}  // namespace

Occupancy::Occupancy(int32_t section_count, int32_t longest_run)
    : all_{0,
           static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(std::max(section_count, 1))))},
      longest_run_(longest_run),
      nodes_(2 * static_cast<size_t>(all_.end)) {}

void Occupancy::Clear() {
  for (Node& node : nodes_) {
    node.covering.clear();
    node.touching.clear();
  }
}

void Occupancy::Add(int32_t begin_section, int32_t end_section, ByteRange bytes) {
  AddBelow(1, all_, {begin_section, end_section}, bytes);
}

void Occupancy::Collect(int32_t begin_section, int32_t end_section,
                        std::vector<ByteRange>* taken) const {
  CollectBelow(1, all_, {begin_section, end_section}, taken);
}

void Occupancy::AddBelow(size_t node, Run node_run, Run run, ByteRange bytes) {
  if (IsUsed(node_run)) AddToUnion(bytes, &nodes_[node].touching);
  if (run.begin <= node_run.begin && node_run.end <= run.end) {
    AddToUnion(bytes, &nodes_[node].covering);
    return;
  }
  const int32_t middle = node_run.begin + (node_run.end - node_run.begin) / 2;
  if (run.begin < middle) AddBelow(2 * node, {node_run.begin, middle}, run, bytes);
  if (run.end > middle) AddBelow(2 * node + 1, {middle, node_run.end}, run, bytes);
}

void Occupancy::CollectBelow(size_t node, Run node_run, Run run,
                             std::vector<ByteRange>* taken) const {
  if (IsUsed(node_run)) {
    if (nodes_[node].touching.empty()) return;
    const bool is_tile = run.begin <= node_run.begin && node_run.end <= run.end;
    const std::vector<ByteRange>& ranges = is_tile ? nodes_[node].touching : nodes_[node].covering;
    taken->insert(taken->end(), ranges.begin(), ranges.end());
    if (is_tile) return;
  }
  const int32_t middle = node_run.begin + (node_run.end - node_run.begin) / 2;
  if (run.begin < middle) CollectBelow(2 * node, {node_run.begin, middle}, run, taken);
  if (run.end > middle) CollectBelow(2 * node + 1, {middle, node_run.end}, run, taken);
}

}  // namespace berth
