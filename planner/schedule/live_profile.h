// Bytes live at every position of a list, with ranges that are added to: a segment tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

class LiveProfile {
 public:
  explicit LiveProfile(const std::vector<int64_t>& bytes);

  // Over the positions [begin, end); O(log size).
  void Add(size_t begin, size_t end, int64_t bytes);
  int64_t Max(size_t begin, size_t end) const;

 private:
  // A leaf is at size_ + position; a node holds the largest of its children plus what was added to
  // all of its range.
  size_t size_ = 1;
  std::vector<int64_t> most_, added_;
};

}  // namespace berth
