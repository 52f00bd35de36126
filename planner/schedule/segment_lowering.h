// A segment of the plan as commands: one step whole, or all its steps part by part over bands of
// rows that stand in scratchpad.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/tile_builder.h"
#include "planner/schedule/bands.h"

namespace berth {

struct SegmentBudget {
  // Bytes that the buffers of one tile should take; where an op's smallest tile is larger, it may
  // take up to the limit (and then has no room for double buffering).
  int64_t scratchpad_bytes = 0, scratchpad_limit_bytes = 0;
  int64_t accumulator_bytes = 0;  // the machine's: sums change hands without a wait
  int64_t command_cycles = 0;     // TileBudget::command_cycles
};

// What is worked out once for a graph and used by every segment.
struct SegmentTables {
  explicit SegmentTables(const Graph& graph);

  GraphUses uses;
  RowReads reads;
  // The graph asks which of two floats is more, or whether they are equal: ties that hang on the
  // last bit of a sum, which must not be rounded otherwise than the model's author saw it.
  bool whole_sums = false;
  // Tile decisions, by what they hang on: the step, the rows of a part (0: all), which operands
  // stand on chip, and the bytes that a tile may take.
  std::map<std::tuple<int, int64_t, uint64_t, int64_t>, TileShape> tiles;
};

// What the lowering of segments shares; the members outlive it.
struct LoweringContext {
  const Graph& graph;
  const StoragePlan& storage;
  SegmentTables& tables;
  // Where the builder finds values (it looks at these very elements): changed while a striped
  // segment is lowered, and put back.
  std::vector<ValuePlacement>& placements;
  TileBuilder& builder;
};

// What LowerSample has made.
struct SegmentSample {
  // Commands from begin_command on (to the next run's) are executed `repeats` times.
  struct Run {
    size_t begin_command = 0;
    size_t compute_command = 0;  // the first that does not only bring rows
    bool moves_result = false;   // the buffer of the result's rows was full
    int64_t repeats = 1;
  };
  std::vector<Run> runs;
  // Of a striped segment: position in `runs` of what every step (the inner index) does in every
  // part, -1 for nothing.
  std::vector<int> run_of_step;
  BandPlan bands;
  int64_t held_bytes = 0;  // of a striped segment: rows, weights and the largest tile; 0: whole
};

// `bands`: of a striped segment, which is Unimplemented without.
// `decisions` has an entry for each step of the graph and gets those of the segment, for people.
absl::Status LowerSegment(const LoweringContext& context, const Segment& segment,
                          std::optional<BandPlan> bands, const SegmentBudget& budget,
                          std::vector<std::string>& decisions);

// As LowerSegment, but what a step does again in another part is not lowered again. What is
// appended is not a program; it says what one would cost.
absl::StatusOr<SegmentSample> LowerSample(const LoweringContext& context, const Segment& segment,
                                          std::optional<BandPlan> bands,
                                          const SegmentBudget& budget);

}  // namespace berth
