// Who used each byte of a memory last, and until when, as a sweep over time goes by.
//
// The segments tile [0, capacity) in order of address. A segment whose last use ends after `now`
// is busy. Finding a window and recording a use are O(segments).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/occupancy.h"

namespace berth {

inline constexpr int64_t kNeverUsedStep = std::numeric_limits<int64_t>::min();

class AddressMap {
 public:
  struct Segment {
    int64_t begin_bytes;
    int64_t end_bytes;
    int64_t free_step;  // end of the last use; kNeverUsedStep if there was none
    int32_t owner;      // the last user; -1 if there was none
  };
  struct Request {
    int64_t size_bytes;
    int64_t alignment_bytes;
    int64_t now_step;
    int64_t old_step;  // bytes free since this step or before are all equally good
    absl::Span<const ByteRange> avoid;
  };

  explicit AddressMap(int64_t capacity_bytes);

  // The window whose latest use is the longest ago, and the lowest one of equals; -1 if none is
  // free.
  int64_t FindWindow(const Request& request);
  void Use(ByteRange bytes, int64_t free_step, int32_t owner);
  // The segments that meet the range.
  absl::Span<const Segment> Over(ByteRange bytes) const;
  int64_t SegmentCount() const { return static_cast<int64_t>(segments_.size()); }

 private:
  struct Window {
    int64_t offset_bytes = -1;
    int64_t latest_use_step = 0;
  };

  size_t TryWindow(size_t first, int64_t offset_bytes, const Request& request, Window* best) const;
  size_t SegmentAt(int64_t address) const;

  int64_t capacity_bytes_;
  std::vector<Segment> segments_;
};

}  // namespace berth
