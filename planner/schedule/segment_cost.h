// What a segment costs with a given part of its values on chip: it is lowered as it would be, and
// its commands are added up by engine; how the units wait for one another is worked out step by
// step (segment_pipeline.h).
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "npu_sim/config.h"
#include "planner/schedule/segment_lowering.h"
#include "planner/storage/storage.h"

namespace berth {

struct SegmentCost {
  int64_t matrix_cycles = 0, vector_cycles = 0, host_cycles = 0;
  // Matrix and vector unit together, with their waits; the same where bands spread (see
  // PipelineCycles).
  int64_t pipeline_cycles = 0, spread_pipeline_cycles = 0;
  int64_t dram_cycles = 0;
  int64_t dram_bytes = 0;
  int64_t peak_bytes = 0;        // of scratchpad, resident values that the segment touches included
  int64_t first_load_bytes = 0;  // what it must load before it is under way

  // What the search minimises: the cycles of engines that overlap, though not perfectly, and those
  // of DRAM once more, since bytes that are not moved save energy and leave room for others.
  int64_t Objective(bool bands_spread) const;
};

class SegmentCosts {
 public:
  // `storage` is without in-place sharing: one buffer for each value and its views. The arguments
  // must outlive this.
  SegmentCosts(const Graph& graph, const StoragePlan& storage, const NpuConfig& config,
               int64_t tile_percent);

  // Buffers (of the storage plan) that the steps of the segment touch, ascending.
  std::vector<int> TouchedBuffers(const Segment& segment) const;

  // With `resident` (ascending; of the touched buffers) whole in scratchpad beside `passing_bytes`
  // of others. Nothing where it does not lower or fit in `limit_bytes`.
  std::optional<SegmentCost> Evaluate(const Segment& segment, const std::vector<int>& resident,
                                      int64_t passing_bytes, int64_t limit_bytes);

  // What Objective is at least: the array's own cycles of the steps, and every byte that must cross
  // to or from DRAM once.
  int64_t LeastObjective(const Segment& segment, const std::vector<int>& resident) const;

  // Cycles for which the segment's first loads keep it waiting where the segment before has
  // `busy_bytes` of the scratchpad live, so that they cannot be early.
  int64_t ExposedCycles(const SegmentCost& cost, int64_t busy_bytes) const;

  // Fewest parts (> 1) of which the rows and weights fit into `budget_bytes`; 0: no number does.
  int FewestParts(Segment segment, const std::vector<int>& resident, int64_t budget_bytes);
  // Whether the matrix unit reads in the segment what the vector unit makes there.
  bool HasLags(const Segment& segment);
  // Of all evaluations so far: commands that were lowered, and steps of parts that were planned.
  int64_t work_units() const { return work_units_; }
  bool IsStripable(const Segment& segment, const std::vector<int>& resident);

 private:
  // Rows of the tallest output of the segment.
  int64_t MostRows(const Segment& segment);
  std::optional<SegmentCost> Lower(const Segment& segment, const std::vector<int>& resident,
                                   int64_t free_bytes);
  // Sets the homes of what the segment touches; Restore puts them back.
  void SetHomes(const Segment& segment, const std::vector<int>& resident);
  void RestoreHomes();

  const Graph& graph_;
  StoragePlan storage_;
  const NpuConfig& config_;
  const int64_t tile_percent_;
  SegmentTables tables_;
  std::vector<int64_t> matrix_cycles_;   // of the steps before each, at the least
  std::vector<int64_t> constant_bytes_;  // likewise: read by them
  std::vector<int> changed_;
  int64_t work_units_ = 0;
  using Key = std::tuple<int, int, int, int, bool, bool, std::vector<int>, int64_t>;
  std::map<Key, std::optional<SegmentCost>> known_;
  std::map<Key, int> fewest_;  // by budget; parts are 0
};

}  // namespace berth
