// Which rows of its operands every row of an op's output reads, worked out once for a graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/op_def.h"

namespace berth {

// The axis along which segments are striped: rows of channels-last images.
inline constexpr int kRowAxis = 1;

// One operand of a step, constants left out.
struct RowRead {
  ValueId value = ValueId::kNone;
  bool reads_rows = true;           // of its row axis; otherwise along another
  bool may_lag = false;             // the vector unit's result, read by the matrix unit
  std::vector<int64_t> begin, end;  // per output row

  IndexRange Of(IndexRange outputs) const {
    const int64_t first = begin[static_cast<size_t>(outputs.begin)];
    return {first, end[static_cast<size_t>(outputs.end()) - 1] - first};
  }
  // Whether neighbouring output rows share rows.
  bool HasWindow() const { return begin.size() > 1 && begin[1] < end[0]; }
};

// How a step is computed by rows of one output.
struct StepRows {
  int axis = kRowAxis;  // of the output; another where a result is transposed
  int64_t rows = 0;     // its extent
  std::vector<RowRead> reads;
};

class RowReads {
 public:
  RowReads(const Graph& graph, const GraphUses& uses)
      : graph_(graph), uses_(uses), steps_(graph.nodes.size()) {}

  // Null where the step cannot be computed by rows of one output.
  const StepRows* Of(int step);

 private:
  std::optional<StepRows> Find(const Node& node) const;
  bool IsVectorResult(ValueId value) const;

  const Graph& graph_;
  const GraphUses& uses_;
  struct Entry {
    bool is_known = false;
    std::optional<StepRows> rows;
  };
  std::vector<Entry> steps_;
};

}  // namespace berth
