// How long the matrix and the vector unit take for a striped segment, waiting for one another: each
// works off its queue in order, part by part and step by step, and a step begins when the rows that
// it reads are made, or copied. Transfers are thought to be in time.
//
// Buffers of rows without spare room make wait, too: when they are full, whoever makes the next
// rows waits for the readers of the last; where rows move in place, the copy waits for the readers
// and whoever makes the next rows for the copy. Cost: O(parts x steps x operands).
#pragma once

#include "planner/schedule/segment_lowering.h"

namespace berth {

// What one run of a sample takes of each unit.
struct RunCycles {
  int64_t copy = 0;  // of the vector unit, before anything is computed: rows that move on
  int64_t matrix = 0, vector = 0;
  int64_t end = 0;  // of the last command, were both units free: a vector command waits for the
                    // matrix commands before it
  bool moves_result = false;  // SegmentSample::Run
};

void AddMatrixCommand(int64_t cycles, RunCycles& run);
void AddVectorCommand(int64_t cycles, RunCycles& run);

// `runs` in the order of sample.runs; the sample is of a striped segment.
int64_t PipelineCycles(const Graph& graph, const StoragePlan& storage, SegmentTables& tables,
                       const Segment& segment, const SegmentSample& sample,
                       const std::vector<RunCycles>& runs, bool bands_spread);

}  // namespace berth
