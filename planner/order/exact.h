// Is there an order whose peak is within a limit? Depth-first over the sets of nodes that can have
// run (the ideals of the precedence), each entered once.
//
// Pruning, all of it without loss:
// - a step whose need is beyond the limit is not taken;
// - a set from which the search failed is not entered again, nor under any lower limit;
// - a ready node v with delta(S, v) <= 0 whose need is within the limit runs at once, and nothing
//   else is tried from S. Proof: live is submodular (per buffer it is [S meets the users] less
//   [S holds all users]), so v ahead of its turn makes delta(T, v) <= delta(S, v) <= 0 for every
//   later T: every live(T + v) <= live(T). What another node a opens at T + v is a part of what it
//   opens at T; a reuse that v takes from a by opening its buffer saved no more than those bytes.
//   So need(T + v, a) <= need(T, a): the order with v moved to the front stays within the limit.
// - valleys: when the path from an ancestor A leads to R with live(R) <= live(Y) for every set Y
//   between A and R, nothing else is tried from A and the sets between. Proof: with
//   X = R - A, run X first and then the rest of any order from A. By submodularity
//   live(T + X) <= live(T) + live(R) - live(T & R) <= live(T), and as above no step needs more.
//
// Cost: at most the number of ideals within the limit times nodes ready; memory: word_count words
// for each set that failed.
#pragma once

#include <memory>
#include <vector>

#include "planner/order/state.h"
#include "planner/pool/work_budget.h"

namespace berth {

enum class OrderVerdict : uint8_t {
  kFound,
  kImpossible,  // no order is within the limit
  kUnknown,     // work or memory ran out
};

class OrderDecision {
 public:
  // Remembers at most so many failed sets.
  OrderDecision(const OrderInstance& instance, size_t max_sets);
  ~OrderDecision();

  // Limits must not rise from call to call: what failed stays failed.
  OrderVerdict Within(int64_t limit_bytes, WorkBudget& budget, std::vector<int>* order);

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace berth
