// Seeded placement problems and a brute force for the pool tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "planner/pool/problem.h"

namespace berth::testing {

struct RandomPoolSpec {
  int item_count = 20;
  int64_t step_count = 30;
  int64_t longest_steps = 12;
  int64_t largest_bytes = 64;
  int64_t largest_alignment_bytes = 1;  // a power of two; each item draws its own
  int alias_group_count = 0;            // a third of the items join one of these
};

inline PoolProblem RandomPoolProblem(uint64_t seed, const RandomPoolSpec& spec) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  PoolProblem problem;
  for (int i = 0; i < spec.item_count; ++i) {
    PoolItem item;
    item.id = i;
    item.name = "t" + std::to_string(i);
    item.begin_step = draw(0, spec.step_count - 1);
    item.end_step = item.begin_step + draw(1, spec.longest_steps);
    item.size_bytes = draw(1, spec.largest_bytes);
    for (int64_t a = draw(1, spec.largest_alignment_bytes); a > 1; a /= 2)
      item.alignment_bytes *= 2;
    if (spec.alias_group_count > 0 && draw(0, 2) == 0) {
      item.alias_group = draw(0, spec.alias_group_count - 1);
    }
    problem.items.push_back(item);
  }
  return problem;
}

// The least height of problems without fixed offsets and alias groups: every order of items, each
// put on top of what it meets. Some order reproduces an optimal plan from the bottom up.
inline int64_t BruteForceHeight(const PoolProblem& problem) {
  std::vector<int> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best_bytes = INT64_MAX;
  do {
    std::vector<int64_t> ends(order.size(), 0);
    int64_t height_bytes = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const PoolItem& item = problem.items[order[i]];
      int64_t offset_bytes = 0;
      for (size_t j = 0; j < i; ++j) {
        const PoolItem& below = problem.items[order[j]];
        if (below.begin_step < item.end_step && item.begin_step < below.end_step) {
          offset_bytes = std::max(offset_bytes, ends[order[j]]);
        }
      }
      while (offset_bytes % item.alignment_bytes != 0) ++offset_bytes;
      ends[order[i]] = offset_bytes + item.size_bytes;
      height_bytes = std::max(height_bytes, ends[order[i]]);
    }
    best_bytes = std::min(best_bytes, height_bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best_bytes;
}

}  // namespace berth::testing
