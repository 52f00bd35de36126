// What the residency search tried, for `berth inspect --why`: per boundary between steps the ways
// that end there, counted, and the cheapest of them.
#pragma once

#include <vector>

#include "planner/storage/on_chip_plan.h"
#include "runtime/bundle/contents.h"

namespace berth {

class SegmentRecord {
 public:
  explicit SegmentRecord(int steps) : boundaries_(static_cast<size_t>(steps) + 1) {}

  void CountTooLarge(int end_step) { ++At(end_step).too_large; }
  void CountRuledOut(int end_step) { ++At(end_step).ruled_out; }
  void Add(const Segment& segment, int64_t resident_bytes, int64_t cost_cycles);

  // With the others that were tried; those of the same kind as `segment` count as itself.
  SegmentInfo Chosen(const Segment& segment, int64_t resident_bytes, int64_t cost_cycles) const;

 private:
  struct Boundary {
    int64_t costed = 0, too_large = 0, ruled_out = 0;
    std::vector<SegmentWay> cheapest;  // ascending, each kind once
  };
  Boundary& At(int end_step) { return boundaries_[static_cast<size_t>(end_step)]; }

  std::vector<Boundary> boundaries_;
};

SegmentWay ToSegmentWay(const Segment& segment, int64_t resident_bytes, int64_t cost_cycles);

}  // namespace berth
