// The search for what stays on chip: which values are whole in scratchpad from their producer to
// their last reader, and which runs of ops are computed in stripes.
//
// A beam search over the boundaries between steps. A state is the set of values that are resident
// across the boundary; it grows by one segment at a time, a single step or a striped run. Costs are
// those of SegmentCosts, so that tiles, traffic and time are what the lowering will really make.
// Deterministic. Cost: O(steps x longest segment x beam) evaluations of segments.
#pragma once

#include <functional>
#include <vector>

#include "base/stop.h"
#include "npu_sim/config.h"
#include "planner/schedule/segment_cost.h"
#include "planner/storage/storage.h"
#include "runtime/bundle/contents.h"

namespace berth {

struct ResidencyOptions {
  bool resident = true;     // values whole in scratchpad
  bool stripes = true;      // runs of ops part by part
  int64_t limit_bytes = 0;  // of scratchpad, for everything that a segment has live at once
  int longest_segment = 24;
  size_t beam = 3;
  bool all_manners = true;  // of striped segments; off: the first that fits
  // Of SegmentCosts::work_units. Where the search is ahead of its share, by steps, it tries less.
  int64_t work_limit_units = 5'000'000;
  bool bands_spread = false;  // what is believed of the placement: see PipelineCycles
  // Told about once a step of the graph: work so far, and the limit. Null: nobody asks.
  std::function<void(int64_t work_units, int64_t limit_units)> progress;
  StopConditions stop;  // then the result is empty, and soon there
};

struct ResidencyResult {
  OnChipPlan plan;
  int64_t cost = 0;                   // sum of SegmentCost::Objective
  std::vector<SegmentInfo> segments;  // plan.segments, with what else was tried
};

// Plans over one graph; what segments cost is worked out once for all of them.
class ResidencyPlanner {
 public:
  // The graph and the machine must outlive this. `tile_percent`: LowerOptions.
  ResidencyPlanner(const Graph& graph, const StorageOptions& storage_options,
                   const NpuConfig& config, int64_t tile_percent);
  ResidencyPlanner(const ResidencyPlanner&) = delete;
  ResidencyPlanner& operator=(const ResidencyPlanner&) = delete;

  ResidencyResult Plan(const ResidencyOptions& options);

 private:
  const Graph& graph_;
  const StoragePlan storage_;
  SegmentCosts costs_;
};

}  // namespace berth
