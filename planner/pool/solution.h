// The answer to a placement problem: an offset for each item and a certificate of how good it is.
//
// Invariants: offset_bytes has one entry per item, in the order of the problem; it is always a
// plan without overlaps, also where the capacity is missed (then it shows what would be needed).
// lower_bound_bytes <= the height of every plan. By load, lower_bound_step witnesses it; proved by
// search, lower_bound_step is where the load is highest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/pool/problem.h"

namespace berth {

enum class PoolStatus : uint8_t {
  kOptimal,     // height = lower bound (and within the capacity, where there is one)
  kFeasible,    // a plan within the capacity; a lower one may exist
  kInfeasible,  // proved: no plan within the capacity exists
  kTimeout,     // the budget ended before a plan within the capacity was found or ruled out
};
std::string_view PoolStatusName(PoolStatus status);  // "optimal", ...

enum class PoolBoundProof : uint8_t {
  kLoad,    // by what is live at lower_bound_step
  kSearch,  // by a search that ruled out every lower plan
};
std::string_view PoolBoundProofName(PoolBoundProof proof);  // "load at step", "search"

enum class PoolConflictProof : uint8_t {
  kLoad,    // live together at the step they take more; without any one of them they would not
  kSearch,  // a search showed that the items fit in no way; leaving some out did not show it
  kNone,    // not proved: the items live where the best plan is highest
};
std::string_view PoolConflictProofName(
    PoolConflictProof proof);  // "load at step", "search", "none"

// Why the capacity is missed: items that cannot lie within it together.
struct PoolConflict {
  PoolConflictProof proof = PoolConflictProof::kNone;
  int64_t step = 0;             // where the items meet; by search, where most of them are live
  std::vector<int64_t> items;   // indexes into the problem's items, largest first
  int64_t required_bytes = 0;   // at least, by the proof; without one, by the best plan found
  int64_t available_bytes = 0;  // the capacity
  int64_t excess_bytes = 0;     // required - available
};

// How soon bytes change hands, over items that take bytes of earlier ones.
struct PoolReuse {
  int64_t reused_count = 0;        // items that reuse bytes of an earlier item
  int64_t min_distance_steps = 0;  // least begin - end of the byte's last user; 0 without reuse
  double mean_distance_steps = 0;  // the mean of the same; 0 without reuse
};

struct PoolPlan {
  PoolStatus status = PoolStatus::kOptimal;
  std::vector<int64_t> offset_bytes;  // by position in PoolProblem::items
  int64_t height_bytes = 0;           // highest end of an item
  int64_t lower_bound_bytes = 0;      // no plan is lower
  int64_t lower_bound_step = 0;       // where the bound by load is reached
  PoolBoundProof lower_bound_proof = PoolBoundProof::kLoad;
  int64_t live_peak_bytes = 0;           // most bytes live at one step, alignment left aside
  std::optional<PoolConflict> conflict;  // for kInfeasible and kTimeout
  PoolReuse reuse;                       // measured for kFitThenReuse
  std::string method;                    // what found the plan: "skyline by length", ...
  int64_t work_units = 0;                // spent; see PoolOptions
  bool is_reproducible = true;           // false when the caller's stop signal cut the search short
};

// Height over the most bytes ever live: 1 means that nothing is lost to holes.
double FragmentationRatio(const PoolPlan& plan);

// One line of totals and one per item (by begin step, then offset). Stable: goldens are made of it.
std::string DumpPoolPlan(const PoolProblem& problem, const PoolPlan& plan);

// One sentence for a user whose capacity is missed: which items, how many bytes. Empty where the
// plan has no conflict. Names at most `max_items` items.
std::string DescribeConflict(const PoolProblem& problem, const PoolPlan& plan, int max_items = 8);

}  // namespace berth
