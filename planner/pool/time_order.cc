#include "planner/pool/time_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "base/checked_math.h"

namespace berth {
namespace {

// Free bytes below the top, by address and by size.
class FreeRanges {
 public:
  // The tightest range that holds the bytes, or the top: its offset.
  int64_t Take(int64_t size_bytes, int64_t alignment_bytes) {
    // With alignment a range may be too short after all: look at a few, then take the top.
    auto at = by_size_.lower_bound({size_bytes, 0});
    for (int tries = 0; at != by_size_.end() && tries < kTries; ++at, ++tries) {
      const auto [range_bytes, begin_bytes] = *at;
      const int64_t offset_bytes = AlignUp(begin_bytes, alignment_bytes);
      if (offset_bytes + size_bytes > begin_bytes + range_bytes) continue;
      Remove(begin_bytes, range_bytes);
      Add(begin_bytes, offset_bytes - begin_bytes);
      Add(offset_bytes + size_bytes, begin_bytes + range_bytes - offset_bytes - size_bytes);
      return offset_bytes;
    }
    return TakeTop(size_bytes, alignment_bytes);
  }

  void Give(int64_t begin_bytes, int64_t size_bytes) {
    auto next = by_address_.lower_bound(begin_bytes);
    if (next != by_address_.end() && next->first == begin_bytes + size_bytes) {
      size_bytes += next->second;
      Remove(next->first, next->second);
    }
    next = by_address_.lower_bound(begin_bytes);
    if (next != by_address_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == begin_bytes) {
        begin_bytes = before->first;
        size_bytes += before->second;
        Remove(before->first, before->second);
      }
    }
    Add(begin_bytes, size_bytes);
  }

 private:
  static constexpr int kTries = 4;

  // The last free range, where it reaches the top, is grown.
  int64_t TakeTop(int64_t size_bytes, int64_t alignment_bytes) {
    int64_t begin_bytes = top_bytes_;
    if (!by_address_.empty()) {
      const auto last = std::prev(by_address_.end());
      if (last->first + last->second == top_bytes_) {
        begin_bytes = last->first;
        Remove(last->first, last->second);
      }
    }
    const int64_t offset_bytes = AlignUp(begin_bytes, alignment_bytes);
    Add(begin_bytes, offset_bytes - begin_bytes);
    top_bytes_ = std::max(top_bytes_, offset_bytes + size_bytes);
    Add(offset_bytes + size_bytes, top_bytes_ - offset_bytes - size_bytes);
    return offset_bytes;
  }

  void Add(int64_t begin_bytes, int64_t size_bytes) {
    if (size_bytes == 0) return;
    by_address_.emplace(begin_bytes, size_bytes);
    by_size_.emplace(size_bytes, begin_bytes);
  }
  void Remove(int64_t begin_bytes, int64_t size_bytes) {
    by_address_.erase(begin_bytes);
    by_size_.erase({size_bytes, begin_bytes});
  }

  std::map<int64_t, int64_t> by_address_;          // begin -> size
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, begin
  int64_t top_bytes_ = 0;
};

}  // namespace

Trial PlaceInTimeOrder(const BlockSet& set) {
  std::vector<int32_t> sequence(set.blocks.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
    const Block &x = set.blocks[a], &y = set.blocks[b];
    return std::make_tuple(x.begin_section, -x.end_section, -x.size_bytes, a) <
           std::make_tuple(y.begin_section, -y.end_section, -y.size_bytes, b);
  });
  Trial trial = {.is_complete = true};
  trial.offset_bytes.resize(set.blocks.size());
  FreeRanges free;
  using End = std::pair<int32_t, int32_t>;  // section, block
  std::priority_queue<End, std::vector<End>, std::greater<End>> live;
  for (const int32_t index : sequence) {
    const Block& block = set.blocks[index];
    for (; !live.empty() && live.top().first <= block.begin_section; live.pop()) {
      const int32_t ended = live.top().second;
      free.Give(trial.offset_bytes[ended], set.blocks[ended].size_bytes);
    }
    trial.offset_bytes[index] = free.Take(block.size_bytes, block.alignment_bytes);
    live.push({block.end_section, index});
  }
  trial.height_bytes = HeightBytes(set, trial.offset_bytes);
  return trial;
}

}  // namespace berth
