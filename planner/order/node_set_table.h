// A set of sets of nodes, by open addressing; members are compared whole, never by hash alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

class NodeSetTable {
 public:
  explicit NodeSetTable(size_t word_count) : word_count_(word_count), slots_(1024, 0) {}

  size_t size() const { return size_; }

  bool Contains(std::span<const uint64_t> set, uint64_t hash) const {
    return slots_[Find(set, hash)] != 0;
  }
  void Insert(std::span<const uint64_t> set, uint64_t hash) {
    const size_t slot = Find(set, hash);
    if (slots_[slot] != 0) return;
    words_.insert(words_.end(), set.begin(), set.end());
    high_hashes_.push_back(static_cast<uint32_t>(hash >> 32));
    slots_[slot] = static_cast<uint32_t>(++size_);
    low_hashes_.push_back(static_cast<uint32_t>(hash));
    if (size_ * 2 > slots_.size()) Grow();
  }

 private:
  size_t Find(std::span<const uint64_t> set, uint64_t hash) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0) {
      const size_t member = slots_[slot] - 1;
      if (high_hashes_[member] == static_cast<uint32_t>(hash >> 32) &&
          std::equal(set.begin(), set.end(),
                     words_.begin() + static_cast<ptrdiff_t>(member * word_count_))) {
        break;
      }
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (size_t member = 0; member < size_; ++member) {
      size_t slot = low_hashes_[member] & (slots_.size() - 1);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<uint32_t>(member + 1);
    }
  }

  size_t word_count_;
  size_t size_ = 0;
  std::vector<uint32_t> slots_;                     // member + 1; 0: free
  std::vector<uint64_t> words_;                     // word_count_ for each member
  std::vector<uint32_t> high_hashes_, low_hashes_;  // upper and lower half
};

}  // namespace berth
