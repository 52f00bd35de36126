#include "planner/schedule/live_profile.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace berth {

LiveProfile::LiveProfile(const std::vector<int64_t>& bytes)
    : size_(std::bit_ceil(std::max<size_t>(bytes.size(), 1))),
      most_(2 * size_, 0),
      added_(2 * size_, 0) {
  std::copy(bytes.begin(), bytes.end(), most_.begin() + static_cast<ptrdiff_t>(size_));
  for (size_t node = size_; node-- > 1;) {
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
  }
}

void LiveProfile::Add(size_t begin, size_t end, int64_t bytes) {
  if (begin >= end) return;
  const auto add = [&](size_t node) {
    most_[node] += bytes;
    added_[node] += bytes;
  };
  size_t low = begin + size_, high = end + size_;
  for (size_t l = low, h = high; l < h; l /= 2, h /= 2) {
    if (l % 2 == 1) add(l++);
    if (h % 2 == 1) add(--h);
  }
  const auto rebuild = [&](size_t leaf) {
    for (size_t node = leaf / 2; node > 0; node /= 2) {
      most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
    }
  };
  rebuild(low);
  rebuild(high - 1);
}

int64_t LiveProfile::Max(size_t begin, size_t end) const {
  if (begin >= end) return 0;
  // Both borders climb together; what was added above a border's node counts for all that was found
  // below it on that side.
  int64_t left = std::numeric_limits<int64_t>::min() / 2, right = left;
  size_t low = begin + size_, high = end + size_ - 1;
  left = most_[low];
  right = most_[high];
  while (low / 2 != high / 2) {
    if (low % 2 == 0) left = std::max(left, most_[low + 1]);
    if (high % 2 == 1) right = std::max(right, most_[high - 1]);
    low /= 2;
    high /= 2;
    left += added_[low];
    right += added_[high];
  }
  int64_t result = low == high ? left : std::max(left, right);
  for (size_t node = low / 2; node > 0; node /= 2) result += added_[node];
  return result;
}

}  // namespace berth
