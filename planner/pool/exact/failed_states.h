// States of a search that were refuted, by hash: a table of fixed size, the newest entry stays.
//
// A state's hash is the sum of its parts' hashes, so that it can be kept up to date by differences.
// 128 bits: a wrong answer by collision is less likely than a memory error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

struct StateHash {
  uint64_t low = 0;
  uint64_t high = 0;

  StateHash& operator+=(const StateHash& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  StateHash& operator-=(const StateHash& other) {
    low -= other.low;
    high -= other.high;
    return *this;
  }
  friend StateHash operator-(StateHash a, const StateHash& b) { return a -= b; }
  friend bool operator==(const StateHash&, const StateHash&) = default;
};

// Of a block waiting with a least offset.
inline StateHash HashWaiting(int32_t block, int64_t offset) {
  const auto mix = [](uint64_t x) {  // the finalizer of splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  const uint64_t low = mix((static_cast<uint64_t>(block) + 1) * 0x9e3779b97f4a7c15u +
                           static_cast<uint64_t>(offset) * 0xd6e8feb86659fd93u);
  return {low, mix(low + 0x2545f4914f6cdd1du + static_cast<uint64_t>(offset))};
}

class FailedStates {
 public:
  void Reserve(size_t count) { entries_.resize(count); }  // a power of two
  void Clear() { entries_.assign(entries_.size(), {}); }
  bool Contains(const StateHash& state) const { return entries_[Slot(state)] == state; }
  void Add(const StateHash& state) { entries_[Slot(state)] = state; }

 private:
  size_t Slot(const StateHash& state) const { return state.low & (entries_.size() - 1); }

  std::vector<StateHash> entries_;
};

}  // namespace berth
