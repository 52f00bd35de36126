#include "planner/schedule/segment_record.h"

#include <algorithm>
#include <tuple>

namespace berth {
namespace {

// Cost apart, what tells two ways to the same boundary from each other.
bool IsSameKind(const SegmentWay& a, const SegmentWay& b) {
  const auto key = [](const SegmentWay& way) {
    return std::tuple(way.begin_op, way.parts, way.spare_parts, way.is_skewed, way.moves_in_place,
                      way.resident_bytes);
  };
  return key(a) == key(b);
}

}  // namespace

SegmentWay ToSegmentWay(const Segment& segment, int64_t resident_bytes, int64_t cost_cycles) {
  return {static_cast<uint32_t>(segment.begin_step),
          static_cast<uint32_t>(segment.end_step),
          segment.parts,
          segment.spare_parts,
          segment.is_skewed,
          segment.moves_in_place,
          resident_bytes,
          cost_cycles};
}

void SegmentRecord::Add(const Segment& segment, int64_t resident_bytes, int64_t cost_cycles) {
  Boundary& boundary = At(segment.end_step);
  ++boundary.costed;
  const SegmentWay way = ToSegmentWay(segment, resident_bytes, cost_cycles);
  std::vector<SegmentWay>& ways = boundary.cheapest;
  const auto known = std::find_if(ways.begin(), ways.end(),
                                  [&](const SegmentWay& other) { return IsSameKind(way, other); });
  if (known != ways.end()) {
    if (known->cost_cycles <= cost_cycles) return;
    ways.erase(known);
  }
  const auto place = std::upper_bound(
      ways.begin(), ways.end(), cost_cycles,
      [](int64_t cost, const SegmentWay& other) { return cost < other.cost_cycles; });
  ways.insert(place, way);
  if (ways.size() > SegmentInfo::kMostOthers + 1) ways.pop_back();
}

SegmentInfo SegmentRecord::Chosen(const Segment& segment, int64_t resident_bytes,
                                  int64_t cost_cycles) const {
  const Boundary& boundary = boundaries_[static_cast<size_t>(segment.end_step)];
  SegmentInfo info;
  info.chosen = ToSegmentWay(segment, resident_bytes, cost_cycles);
  info.costed = boundary.costed;
  info.too_large = boundary.too_large;
  info.ruled_out = boundary.ruled_out;
  for (const SegmentWay& way : boundary.cheapest) {
    if (!IsSameKind(way, info.chosen)) info.others.push_back(way);
  }
  if (info.others.size() > SegmentInfo::kMostOthers) info.others.pop_back();
  return info;
}

}  // namespace berth
