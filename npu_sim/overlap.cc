// The overlap test. With A = {a + sum i_d S_d + u} and B = {b + sum j_d S_d + v} over the union of
// the strides S (absent loops have extent 1), i_d and j_d move independently, so A and B share a
// byte iff integers delta_d = i_d - j_d in [1 - extentB_d, extentA_d - 1] exist with
//   sum delta_d S_d  in  [1 - runA - (a - b), runB - 1 - (a - b)].
// Depth-first from the largest stride, keeping only deltas that the smaller strides can still
// correct: where grids nest, at most three candidates per level.
#include <algorithm>
#include <array>

#include "npu_sim/access.h"

namespace berth {
namespace {

// floor(a / b) and ceil(a / b) for b > 0 and any a.
int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

// The equation of the header comment, one term per distinct stride.
struct Term {
  int64_t stride = 0, low = 0, high = 0;  // delta in [low, high]
};

class OverlapSearch {
 public:
  OverlapSearch(const Access& a, const Access& b) {
    for (int d = 0; d < 4; ++d) {
      if (a.extent[d] > 1) AddTerm(a.stride_bytes[d], 0, a.extent[d] - 1);
      if (b.extent[d] > 1) AddTerm(b.stride_bytes[d], 1 - b.extent[d], 0);
    }
    for (size_t t = count_; t-- > 0;) {
      rest_low_[t] = rest_low_[t + 1] + terms_[t].low * terms_[t].stride;
      rest_high_[t] = rest_high_[t + 1] + terms_[t].high * terms_[t].stride;
    }
  }

  // Can the terms from `t` on add up to a number in [low, high]?
  bool Reachable(size_t t, int64_t low, int64_t high) {
    if (t == count_) return low <= 0 && 0 <= high;
    if (--budget_ < 0) return true;
    const Term& term = terms_[t];
    const int64_t first = std::max(term.low, CeilDivide(low - rest_high_[t + 1], term.stride));
    const int64_t last = std::min(term.high, FloorDivide(high - rest_low_[t + 1], term.stride));
    if (t + 1 == count_) return first <= last;
    for (int64_t delta = first; delta <= last; ++delta) {
      if (Reachable(t + 1, low - delta * term.stride, high - delta * term.stride)) return true;
    }
    return false;
  }

 private:
  // Keeps strides descending; equal strides are one term.
  void AddTerm(int64_t stride, int64_t low, int64_t high) {
    size_t place = 0;
    while (place < count_ && terms_[place].stride > stride) ++place;
    if (place < count_ && terms_[place].stride == stride) {
      terms_[place].low += low;
      terms_[place].high += high;
      return;
    }
    for (size_t t = count_++; t > place; --t) terms_[t] = terms_[t - 1];
    terms_[place] = {stride, low, high};
  }

  std::array<Term, 8> terms_;
  std::array<int64_t, 9> rest_low_{}, rest_high_{};  // what terms t.. can add up to
  size_t count_ = 0;
  int budget_ = 1000;  // visits; nested grids need at most 3^8 in theory, about ten in practice
};

}  // namespace

bool MayOverlap(const Access& a, const Access& b) {
  if (a.space != b.space || a.region != b.region) return false;
  if (a.offset_bytes >= b.end_bytes() || b.offset_bytes >= a.end_bytes()) return false;
  const int64_t distance = a.offset_bytes - b.offset_bytes;
  return OverlapSearch(a, b).Reachable(0, 1 - a.run_bytes - distance, b.run_bytes - 1 - distance);
}

}  // namespace berth
