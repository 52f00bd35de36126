// Improvement by repeated construction: what got in the way last time goes first next time.
//
// Each wheel is a list of priorities, started from one measure of the blocks. A turn places all
// blocks by the wheel's priorities under a limit below the best plan so far; the blocks for which
// no room was left then have their priority raised. ("Squeaky wheel" optimization, Joslin and
// Clements 1999.) The construction is the skyline; where blocks are fixed, which the skyline cannot
// go around, it is first-fit. Deterministic for a seed and the heights it is told.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "planner/pool/blocks.h"
#include "planner/pool/greedy.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/skyline.h"
#include "planner/pool/work_budget.h"

namespace berth {

class SqueakyWheel {
 public:
  SqueakyWheel(const BlockSet& set, uint64_t seed);  // `set` must outlive the wheel

  // One turn, towards heights between the two.
  void Turn(int64_t lower_bound_bytes, WorkBudget* budget, Incumbent* incumbent);

 private:
  struct Wheel {
    std::vector<double> start;
    std::vector<double> priorities;
  };

  Trial Construct(const Wheel& wheel, int64_t goal_bytes, int64_t limit_bytes, WorkBudget* budget);

  const BlockSet& set_;
  std::unique_ptr<SkylinePlacer> skyline_;  // or, where blocks are fixed,
  std::unique_ptr<GreedyPlacer> greedy_;
  std::vector<Wheel> wheels_;
  std::mt19937_64 random_;
  uint64_t turn_ = 0;
};

}  // namespace berth
