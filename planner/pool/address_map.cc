#include "planner/pool/address_map.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {

AddressMap::AddressMap(int64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {
  if (capacity_bytes > 0) segments_.push_back({0, capacity_bytes, kNeverUsedStep, -1});
}

size_t AddressMap::SegmentAt(int64_t address) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), address,
      [](int64_t value, const Segment& segment) { return value < segment.begin_bytes; });
  return static_cast<size_t>(after - segments_.begin()) - 1;
}

absl::Span<const AddressMap::Segment> AddressMap::Over(ByteRange bytes) const {
  const size_t first = SegmentAt(bytes.begin_bytes), last = SegmentAt(bytes.end_bytes - 1);
  return absl::MakeConstSpan(segments_).subspan(first, last - first + 1);
}

void AddressMap::Use(ByteRange bytes, int64_t free_step, int32_t owner) {
  const size_t first = SegmentAt(bytes.begin_bytes), last = SegmentAt(bytes.end_bytes - 1);
  Segment below = segments_[first], above = segments_[last];
  below.end_bytes = bytes.begin_bytes;
  above.begin_bytes = bytes.end_bytes;
  Segment replacement[3];
  size_t count = 0;
  if (below.begin_bytes < below.end_bytes) replacement[count++] = below;
  replacement[count++] = {bytes.begin_bytes, bytes.end_bytes, free_step, owner};
  if (above.begin_bytes < above.end_bytes) replacement[count++] = above;
  // Overwrite what is there and shift the tail once.
  const size_t old_count = last - first + 1;
  const size_t kept = std::min(old_count, count);
  std::copy(replacement, replacement + kept, segments_.begin() + first);
  if (count > old_count) {
    segments_.insert(segments_.begin() + first + kept, replacement + kept, replacement + count);
  } else {
    segments_.erase(segments_.begin() + first + kept, segments_.begin() + last + 1);
  }
}

// Returns the first segment that may start a later window.
size_t AddressMap::TryWindow(size_t first, int64_t offset_bytes, const Request& request,
                             Window* best) const {
  const int64_t end_bytes = offset_bytes + request.size_bytes;
  if (end_bytes > capacity_bytes_) return segments_.size();
  int64_t latest_use_step = request.old_step;
  for (size_t i = first; i < segments_.size() && segments_[i].begin_bytes < end_bytes; ++i) {
    if (segments_[i].free_step > request.now_step) return i + 1;
    latest_use_step = std::max(latest_use_step, segments_[i].free_step);
    if (best->offset_bytes >= 0 && latest_use_step >= best->latest_use_step) return first + 1;
  }
  for (const ByteRange& avoid : request.avoid) {
    if (avoid.begin_bytes < end_bytes && offset_bytes < avoid.end_bytes) return first + 1;
  }
  *best = {offset_bytes, latest_use_step};
  return first + 1;
}

int64_t AddressMap::FindWindow(const Request& request) {
  Window best;
  for (size_t i = 0; i < segments_.size();) {
    const Segment& segment = segments_[i];
    size_t next = i + 1;
    const int64_t offset_bytes = AlignUp(segment.begin_bytes, request.alignment_bytes);
    if (offset_bytes < segment.end_bytes) next = TryWindow(i, offset_bytes, request, &best);
    for (const ByteRange& avoid : request.avoid) {
      const int64_t above_bytes = AlignUp(avoid.end_bytes, request.alignment_bytes);
      if (segment.begin_bytes < above_bytes && above_bytes < segment.end_bytes) {
        TryWindow(i, above_bytes, request, &best);
      }
    }
    if (best.offset_bytes >= 0 && best.latest_use_step <= request.old_step) break;
    i = next;
  }
  return best.offset_bytes;
}

}  // namespace berth
