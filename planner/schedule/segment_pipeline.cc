#include "planner/schedule/segment_pipeline.h"

#include <algorithm>

namespace berth {
namespace {

// When the rows of one buffer of the storage plan are there.
struct RowTimes {
  std::vector<std::pair<int64_t, int64_t>>
      made;                  // rows up to .first since cycle .second, ascending
  int64_t copied_cycle = 0;  // the last time that it moved on
  int64_t read_cycle = 0;    // the end of its last reader

  int64_t ReadyCycle(int64_t end_row) const {
    const auto found = std::lower_bound(made.begin(), made.end(), std::pair(end_row, int64_t{0}));
    const int64_t made_cycle = found == made.end() ? 0 : found->second;
    return std::max(made_cycle, copied_cycle);
  }
};

class Pipeline {
 public:
  Pipeline(const Graph& graph, const StoragePlan& storage, SegmentTables& tables,
           const Segment& segment, const BandPlan& plan, bool bands_spread)
      : graph_(graph),
        storage_(storage),
        tables_(tables),
        segment_(segment),
        plan_(plan),
        reuses_bytes_(segment.moves_in_place || (segment.spare_parts == 0 && !bands_spread)),
        rows_(storage.buffers.size()) {}

  void Run(int step, int part, const RunCycles& run) {
    const Node& node = graph_.nodes[static_cast<size_t>(step)];
    const size_t position = static_cast<size_t>(step - segment_.begin_step);
    const IndexRange rows = plan_.makes[position][static_cast<size_t>(part)];
    RowTimes* out = TimesOf(node.outputs[0]);
    if (run.copy > 0) Move(node, out, run.copy);
    int64_t ready = 0;
    if (out != nullptr && segment_.moves_in_place) ready = out->copied_cycle;
    if (run.moves_result && reuses_bytes_) ready = std::max(ready, out->read_cycle);
    for (const RowRead& read : tables_.reads.Of(step)->reads) {
      if (const RowTimes* in = TimesOf(read.value)) {
        ready = std::max(ready, in->ReadyCycle(read.Of(rows).end()));
      }
    }
    const int64_t end = Compute(ready, run);
    for (const RowRead& read : tables_.reads.Of(step)->reads) {
      if (RowTimes* in = TimesOf(read.value)) in->read_cycle = std::max(in->read_cycle, end);
    }
    if (out == nullptr) return;
    if (!out->made.empty() && out->made.back().first >= rows.end()) {  // another of its values
      out->made.back().second = std::max(out->made.back().second, end);
    } else {
      out->made.emplace_back(rows.end(), end);
    }
  }

  int64_t cycles() const { return std::max(matrix_free_, vector_free_); }

 private:
  RowTimes* TimesOf(ValueId id) {
    const int buffer = storage_.places[Index(id)].buffer;
    return buffer < 0 ? nullptr : &rows_[static_cast<size_t>(buffer)];
  }
  // Whether the value stands in a band of rows that come from DRAM.
  bool IsLoadedBand(ValueId id) const {
    const int buffer = storage_.places[Index(id)].buffer;
    const int band = buffer < 0 ? -1 : plan_.band_of_buffer[static_cast<size_t>(buffer)];
    return band >= 0 && !plan_.bands[static_cast<size_t>(band)].is_made;
  }

  // The bands of the step move on: those that it loads, and that of its result.
  void Move(const Node& node, RowTimes* out, int64_t copy_cycles) {
    std::vector<RowTimes*> moved;
    if (out != nullptr) moved.push_back(out);
    for (const ValueId read : ReadValues(node)) {
      if (read != ValueId::kNone && IsLoadedBand(read)) moved.push_back(TimesOf(read));
    }
    int64_t start = vector_free_;
    for (const RowTimes* times : moved) {
      if (!times->made.empty()) start = std::max(start, times->made.back().second);
      if (segment_.moves_in_place) start = std::max(start, times->read_cycle);
    }
    vector_free_ = start + copy_cycles;
    for (RowTimes* times : moved) times->copied_cycle = vector_free_;
  }

  // Returns when the results are there. What both units do of a step overlaps command by command.
  int64_t Compute(int64_t ready, const RunCycles& run) {
    if (run.matrix == 0) {
      if (run.vector == 0) return ready;
      return vector_free_ = std::max(vector_free_, ready) + run.vector;
    }
    const int64_t start = std::max(matrix_free_, ready);
    matrix_free_ = start + run.matrix;
    if (run.vector == 0) return matrix_free_;
    return vector_free_ = std::max(vector_free_ + run.vector, start + run.end);
  }

  const Graph& graph_;
  const StoragePlan& storage_;
  SegmentTables& tables_;
  const Segment& segment_;
  const BandPlan& plan_;
  const bool reuses_bytes_;     // of rows just read, for the next
  std::vector<RowTimes> rows_;  // per buffer
  int64_t matrix_free_ = 0, vector_free_ = 0;
};

}  // namespace

void AddMatrixCommand(int64_t cycles, RunCycles& run) {
  run.matrix += cycles;
  run.end = std::max(run.end, run.matrix);
}

void AddVectorCommand(int64_t cycles, RunCycles& run) {
  run.vector += cycles;
  run.end = std::max(run.end, run.matrix) + cycles;
}

int64_t PipelineCycles(const Graph& graph, const StoragePlan& storage, SegmentTables& tables,
                       const Segment& segment, const SegmentSample& sample,
                       const std::vector<RunCycles>& runs, bool bands_spread) {
  Pipeline pipeline(graph, storage, tables, segment, sample.bands, bands_spread);
  const int steps = segment.end_step - segment.begin_step;
  for (size_t i = 0; i < sample.run_of_step.size(); ++i) {
    const int run = sample.run_of_step[i];
    if (run < 0) continue;
    const int position = static_cast<int>(i);
    pipeline.Run(segment.begin_step + position % steps, position / steps,
                 runs[static_cast<size_t>(run)]);
  }
  return pipeline.cycles();
}

}  // namespace berth
