// The rows of every value that a striped segment holds in scratchpad, part by part.
//
// Every part advances each value by at most its share of rows (its rows / Segment::parts), as far
// as the rows are wanted by the ops that read them and the rows that they are made of exist: a
// wavefront in which later ops lag behind by their windows. Rows that are still to be read stay.
// Values that are views of one buffer (the operands of a concat) advance together.
#pragma once

#include <optional>
#include <vector>

#include "planner/schedule/row_reads.h"
#include "planner/storage/storage.h"

namespace berth {

// A buffer of the storage plan of which some rows at a time stand in scratchpad.
struct Band {
  int buffer = -1;
  int64_t row_bytes = 0;
  int64_t rows = 0;              // of the whole buffer
  bool is_made = false;          // by the segment, though perhaps not all of its values
  bool is_stored = false;        // what is made goes to DRAM as well: it is read behind the segment
  std::vector<ValueId> values;   // that the segment touches; none is part of another
  std::vector<ValueId> loaded;   // from DRAM, where they were made before the segment
  std::vector<ValueId> all;      // every value of the buffer that the segment touches
  std::vector<IndexRange> held;  // per part: what stands in scratchpad while it runs
  int64_t buffer_rows = 0;       // that one buffer has room for

  int64_t buffer_bytes() const { return buffer_rows * row_bytes; }
};

struct BandPlan {
  int parts = 0;  // really; a few more than the segment's, where ops lag behind one another
  std::vector<Band> bands;
  std::vector<int> axes;                       // per step of the segment: of its output's rows
  std::vector<int> band_of_buffer;             // per buffer of the storage plan; -1: none
  std::vector<std::vector<IndexRange>> makes;  // per step of the segment and part: rows of output 0
};

// Nothing where the segment cannot be striped: an op without a part rule, a batch, a reshape.
std::optional<BandPlan> PlanBands(const Graph& graph, const StoragePlan& storage,
                                  const GraphUses& uses, RowReads& reads, const Segment& segment);

// Bytes that the segment keeps in scratchpad: a buffer for each band and, unless rows move in
// place, one more while the largest moves on, and weights.
int64_t HeldBytes(const Graph& graph, const StoragePlan& storage, const BandPlan& plan,
                  const Segment& segment);

// Constants that every part of the segment reads whole, and that stay in scratchpad throughout.
std::vector<ValueId> HeldWeights(const Graph& graph, const StoragePlan& storage,
                                 const Segment& segment);
int64_t HeldWeightBytes(const Graph& graph, const StoragePlan& storage, const Segment& segment);

}  // namespace berth
