// The search for one part of a problem that has no forced cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/order/exact.h"
#include "planner/order/state.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Searches run on the problem and on its reversal: either may be far easier.
class OrderSegment {
 public:
  // The order of the problem's own numbers is where the search starts.
  OrderSegment(OrderProblem problem, size_t max_sets);
  OrderSegment(const OrderSegment&) = delete;
  OrderSegment& operator=(const OrderSegment&) = delete;

  const std::vector<int>& order() const { return order_; }
  int64_t peak_bytes() const { return peak_bytes_; }
  int64_t lower_bound_bytes() const { return lower_bound_bytes_; }
  const char* method() const { return method_; }  // null: the order is the one it started from
  // At a peak of `goal_bytes` or less there is nothing to gain for the whole.
  bool IsDone(int64_t goal_bytes) const {
    return peak_bytes_ <= std::max(goal_bytes, lower_bound_bytes_);
  }

  // One round of every method, each with more work than in the round before.
  void Improve(int64_t goal_bytes, int round, uint64_t seed, WorkBudget& budget);

 private:
  struct Direction {
    Direction(const OrderProblem& problem, size_t max_sets)
        : instance(problem), decision(instance, max_sets) {}
    OrderInstance instance;
    OrderDecision decision;
  };

  bool Offer(const char* method, std::vector<int> order, bool is_reversed);
  void Beams(int64_t goal_bytes, int width, uint64_t seed, WorkBudget& budget);
  bool OneBeam(int64_t limit_bytes, int width, uint64_t seed, WorkBudget& budget);
  void Windows(int64_t goal_bytes, int64_t units, WorkBudget& budget);
  void Decide(int64_t goal_bytes, int64_t units, WorkBudget& budget);
  void RaiseBound(int64_t goal_bytes, int64_t units, WorkBudget& budget);

  OrderProblem problem_;
  std::vector<int> order_;
  int64_t peak_bytes_;
  int64_t lower_bound_bytes_;
  const char* method_ = nullptr;
  size_t max_sets_;
  Direction forward_, backward_;
};

// What no order is below: all that a node uses is live while it runs; what is live before the first
// node and after the last is live then.
int64_t SimpleBound(const OrderProblem& problem);

}  // namespace berth
