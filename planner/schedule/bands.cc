#include "planner/schedule/bands.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked_math.h"
#include "planner/storage/overlap.h"

namespace berth {
namespace {

constexpr int64_t kNoRow = std::numeric_limits<int64_t>::max();
constexpr int kMostParts = 4096;

class BandPlanner {
 public:
  BandPlanner(const Graph& graph, const StoragePlan& storage, const GraphUses& uses,
              RowReads& reads, const Segment& segment)
      : graph_(graph), storage_(storage), uses_(uses), reads_(reads), segment_(segment) {}

  std::optional<BandPlan> Run() {
    plan_.band_of_buffer.assign(storage_.buffers.size(), -1);
    tracked_of_buffer_.assign(storage_.buffers.size(), -1);
    plan_.axes.assign(static_cast<size_t>(segment_.end_step - segment_.begin_step), kRowAxis);
    plan_.makes.resize(static_cast<size_t>(segment_.end_step - segment_.begin_step));
    if (!FindSteps() || !FindTracked()) return std::nullopt;
    for (; !IsComplete(); ++plan_.parts) {
      if (plan_.parts > kMostParts || !AdvancePart()) return std::nullopt;
    }
    MakeBands();
    return std::move(plan_);
  }

 private:
  struct Tracked {
    int buffer = -1;
    int64_t row_bytes = 0, rows = 0;
    bool is_made = false;       // by a step of the segment
    bool is_read = false;       // by a step of the segment
    bool is_crosswise = false;  // its rows are of another axis
    bool has_window = false;    // some step reads rows again for the next part
    int readers = 0;            // steps
    int first_reader = std::numeric_limits<int>::max(), last_maker = -1;
    bool is_read_behind = false;  // after the segment, or an output of the model
    std::vector<ValueId> values;
    std::vector<ValueId> made_before;  // parts of a buffer that the segment completes
    int64_t made_end = 0;              // rows made by the parts so far
    std::vector<int64_t> begin, end;   // per part
    int64_t want = 0, need_begin = 0;  // of the part that is planned
  };

  const StoragePlace& PlaceOf(ValueId id) const { return storage_.places[Index(id)]; }
  Tracked* TrackedOf(ValueId id) {
    const int buffer = PlaceOf(id).buffer;
    const int tracked = buffer < 0 ? -1 : tracked_of_buffer_[static_cast<size_t>(buffer)];
    return tracked < 0 ? nullptr : &tracked_[static_cast<size_t>(tracked)];
  }

  // The steps that run, each with one output of rows.
  bool FindSteps() {
    for (int step = segment_.begin_step; step < segment_.end_step; ++step) {
      if (storage_.nodes[static_cast<size_t>(step)] == NodeStorage::kView) continue;
      if (reads_.Of(step) == nullptr) return false;
      plan_.axes[static_cast<size_t>(step - segment_.begin_step)] = reads_.Of(step)->axis;
      steps_.push_back(step);
    }
    return !steps_.empty();
  }

  // Adds the value to its buffer's rows; false where it does not stand row by row.
  bool Track(ValueId id, Tracked& tracked) {
    const Value& value = graph_.at(id);
    const StoragePlace& place = PlaceOf(id);
    if (value.type.shape.rank() <= kRowAxis + 1 || value.type.shape[0] != 1) return false;
    Extents row_strides = place.stride_bytes;
    TensorType row = value.type;
    row.shape[kRowAxis] = 1;
    const int64_t rows = value.type.shape[kRowAxis], row_bytes = row_strides[kRowAxis];
    if (std::any_of(row_strides.begin(), row_strides.end(), [](int64_t s) { return s < 0; })) {
      return false;
    }
    if (tracked.values.empty()) {
      tracked.rows = rows;
      tracked.row_bytes = row_bytes;
    }
    if (rows != tracked.rows || row_bytes != tracked.row_bytes ||
        place.offset_bytes + SpanBytes(row, row_strides) > row_bytes) {
      return false;
    }
    if (std::find(tracked.values.begin(), tracked.values.end(), id) == tracked.values.end()) {
      tracked.values.push_back(id);
    }
    return true;
  }

  Tracked& TrackedBuffer(int buffer) {
    int& tracked = tracked_of_buffer_[static_cast<size_t>(buffer)];
    if (tracked < 0) {
      tracked = static_cast<int>(tracked_.size());
      tracked_.emplace_back();
      tracked_.back().buffer = buffer;
    }
    return tracked_[static_cast<size_t>(tracked)];
  }

  bool FindTracked() {
    for (const int step : steps_) {
      const ValueId out = graph_.nodes[static_cast<size_t>(step)].outputs[0];
      Tracked& tracked = TrackedBuffer(PlaceOf(out).buffer);
      tracked.is_made = true;
      tracked.last_maker = step;
      const StepRows& rows = *reads_.Of(step);
      if (tracked.is_crosswise || (rows.axis != kRowAxis && !tracked.values.empty())) return false;
      if (rows.axis != kRowAxis) {  // written where it stands; nothing in the segment may read it
        tracked.is_crosswise = true;
        tracked.rows = rows.rows;
      } else if (!Track(out, tracked)) {
        return false;
      }
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!FindReads(i)) return false;
    }
    for (Tracked& tracked : tracked_) {
      tracked.is_read_behind = IsReadBehind(tracked);
      if (!FindMadeBefore(tracked)) return false;
    }
    return true;
  }

  bool FindReads(size_t i) {
    std::set<int> seen;
    for (const RowRead& read : reads_.Of(steps_[i])->reads) {
      const int buffer = PlaceOf(read.value).buffer;
      if (buffer < 0) continue;
      Tracked* known = TrackedOf(read.value);
      const bool is_made = known != nullptr && known->is_made;
      if (!read.reads_rows || (known != nullptr && known->is_crosswise)) {
        if (is_made) return false;
        untrackable_.insert(buffer);
        continue;
      }
      if (!is_made && storage_.buffers[static_cast<size_t>(buffer)].home != StorageHome::kDram) {
        continue;  // resident: read where it is
      }
      Tracked attempt = known != nullptr ? *known : Tracked{};
      attempt.buffer = buffer;
      if (!Track(read.value, attempt)) {
        if (is_made) return false;
        untrackable_.insert(buffer);
        continue;
      }
      attempt.is_read = true;
      attempt.first_reader = std::min(attempt.first_reader, steps_[i]);
      if (seen.insert(buffer).second) ++attempt.readers;
      attempt.has_window = attempt.has_window || read.HasWindow();
      TrackedBuffer(buffer) = attempt;
    }
    return true;
  }

  // Parts of the buffer that stand in DRAM are loaded when the segment makes the others: false
  // where an op reads of the buffer before that.
  bool FindMadeBefore(Tracked& tracked) {
    const StorageBuffer& buffer = storage_.buffers[static_cast<size_t>(tracked.buffer)];
    if (!tracked.is_made || !tracked.is_read || buffer.home == StorageHome::kScratchpad) {
      return true;
    }
    for (size_t i = 0; i < storage_.places.size(); ++i) {
      const int producer = uses_.producer[i];
      if (storage_.places[i].buffer != tracked.buffer || producer < 0 ||
          producer >= segment_.begin_step ||
          storage_.nodes[static_cast<size_t>(producer)] == NodeStorage::kView) {
        continue;
      }
      if (!Track(static_cast<ValueId>(i), tracked)) return false;
      tracked.made_before.push_back(static_cast<ValueId>(i));
    }
    return tracked.made_before.empty() || tracked.first_reader > tracked.last_maker;
  }

  bool IsReadBehind(const Tracked& tracked) const {
    if (storage_.buffers[static_cast<size_t>(tracked.buffer)].kind == RegionKind::kOutput) {
      return true;
    }
    for (size_t i = 0; i < storage_.places.size(); ++i) {
      if (storage_.places[i].buffer != tracked.buffer) continue;
      for (const int reader : uses_.readers[i]) {
        if (reader >= segment_.end_step) return true;
      }
    }
    return false;
  }

  // One part: what every buffer should reach, as far as its inputs allow.
  bool AdvancePart() {
    FindWants();
    LimitByInputs();
    FindNeeds();
    bool advances = false;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Tracked& out = *TrackedOf(OutputOf(i));
      MakesOf(i).push_back({out.made_end, out.want - out.made_end});
      advances = advances || out.want > out.made_end;
    }
    for (Tracked& t : tracked_) {
      t.begin.push_back(t.need_begin);
      t.end.push_back(t.want);
      t.made_end = t.want;
    }
    return advances;
  }

  bool IsComplete() const {
    return std::all_of(tracked_.begin(), tracked_.end(), [](const Tracked& t) {
      return !t.is_made || t.made_end == t.rows || (t.is_read && !t.is_read_behind);
    });
  }

  // Backwards: results advance by their share of rows, other buffers by what is read of them, but
  // by no more than their share, so that few rows wait.
  void FindWants() {
    for (Tracked& t : tracked_) {
      t.want = t.made_end;
      if (t.is_made && (!t.is_read || t.is_read_behind)) t.want = Share(t);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = steps_.size(); i-- > 0;) changed = PullRows(i) || changed;
    }
  }
  int64_t Share(const Tracked& t) const {
    return std::min(t.rows, t.made_end + CeilDiv(t.rows, segment_.parts));
  }

  bool PullRows(size_t i) {
    bool changed = false;
    const Tracked& out = *TrackedOf(OutputOf(i));
    ForEachRead(i, [&](Tracked& in, const RowRead& read, IndexRange rows) {
      if (Lags(in, read)) {  // what comes after these rows is to be made beside them
        const int64_t further = std::min(out.rows, out.want + CeilDiv(out.rows, segment_.parts));
        rows = read.Of({out.made_end, further - out.made_end});
      }
      const int64_t most = in.is_made ? Share(in) : in.rows;
      const int64_t want = std::min(rows.end(), most);
      changed = changed || want > in.want;
      in.want = std::max(in.want, want);
    });
    return changed;
  }

  // Forwards: no row before the rows that it reads.
  void LimitByInputs() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < steps_.size(); ++i) {
        Tracked& out = *TrackedOf(OutputOf(i));
        for (const RowRead& read : reads_.Of(steps_[i])->reads) {
          const Tracked* in = TrackedOf(read.value);
          if (in == nullptr || !in->is_made) continue;
          const int64_t available = Lags(*in, read) ? in->made_end : in->want;
          const auto possible = std::upper_bound(read.end.begin(), read.end.end(), available);
          const int64_t limit = std::max(out.made_end, possible - read.end.begin());
          if (out.want <= limit) continue;
          out.want = limit;
          changed = true;
        }
      }
    }
  }

  void FindNeeds() {
    for (Tracked& t : tracked_) {
      t.need_begin = kNoRow;
      if (!t.is_made) t.want = t.made_end;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      ForEachRead(i, [&](Tracked& in, const RowRead&, IndexRange rows) {
        in.need_begin = std::min(in.need_begin, rows.begin);
        if (!in.is_made) in.want = std::max(in.want, rows.end());
      });
    }
    for (Tracked& t : tracked_) t.need_begin = std::min(t.need_begin, t.made_end);
  }

  bool Lags(const Tracked& in, const RowRead& read) const {
    return segment_.is_skewed && in.is_made && read.may_lag;
  }

  // Calls visit(buffer, read, rows) for the rows that step i reads to make what its output wants.
  template <typename Visit>
  void ForEachRead(size_t i, Visit&& visit) {
    const Tracked& out = *TrackedOf(OutputOf(i));
    const IndexRange outputs{out.made_end, out.want - out.made_end};
    if (outputs.count == 0) return;
    for (const RowRead& read : reads_.Of(steps_[i])->reads) {
      Tracked* in = TrackedOf(read.value);
      if (in == nullptr || (!in->is_made && untrackable_.contains(in->buffer))) continue;
      visit(*in, read, read.Of(outputs));
    }
  }

  ValueId OutputOf(size_t i) const {
    return graph_.nodes[static_cast<size_t>(steps_[i])].outputs[0];
  }
  std::vector<IndexRange>& MakesOf(size_t i) {
    return plan_.makes[static_cast<size_t>(steps_[i] - segment_.begin_step)];
  }

  // Values of the band that are not part of another of its values.
  std::vector<ValueId> Maximal(const Tracked& tracked) const {
    const auto range = [&](ValueId id) {
      TensorType row = graph_.at(id).type;
      row.shape[kRowAxis] = 1;
      const StoragePlace& place = PlaceOf(id);
      return std::pair(place.offset_bytes, place.offset_bytes + SpanBytes(row, place.stride_bytes));
    };
    std::vector<ValueId> maximal;
    for (size_t i = 0; i < tracked.values.size(); ++i) {
      const auto own = range(tracked.values[i]);
      bool is_part = false;
      for (size_t j = 0; j < tracked.values.size() && !is_part; ++j) {
        const auto other = range(tracked.values[j]);
        const bool contains = other.first <= own.first && own.second <= other.second;
        is_part = i != j && contains && (other != own || j < i);
      }
      if (!is_part) maximal.push_back(tracked.values[i]);
    }
    return maximal;
  }

  void MakeBands() {
    for (const Tracked& t : tracked_) {
      const StorageBuffer& buffer = storage_.buffers[static_cast<size_t>(t.buffer)];
      if (!t.is_read || buffer.home == StorageHome::kScratchpad) continue;
      if (!t.is_made && untrackable_.contains(t.buffer)) continue;
      if (!t.is_made && !t.has_window && t.readers < 2) continue;  // loaded where it is read
      Band band;
      band.buffer = t.buffer;
      band.row_bytes = t.row_bytes;
      band.rows = t.rows;
      band.is_made = t.is_made;
      band.is_stored = t.is_made && t.is_read_behind;
      band.values = Maximal(t);
      band.loaded = t.is_made ? t.made_before : band.values;
      band.all = t.values;
      int64_t begin = kNoRow;
      band.held.resize(static_cast<size_t>(plan_.parts));
      for (size_t part = band.held.size(); part-- > 0;) {
        begin = std::min(begin, t.begin[part]);
        band.held[part] = {begin, t.end[part] - begin};
        band.buffer_rows = std::max(band.buffer_rows, band.held[part].count);
      }
      const int64_t spare_rows = CeilDiv(t.rows, segment_.parts) * segment_.spare_parts;
      band.buffer_rows = std::min(band.rows, band.buffer_rows + spare_rows);
      plan_.band_of_buffer[static_cast<size_t>(t.buffer)] = static_cast<int>(plan_.bands.size());
      plan_.bands.push_back(std::move(band));
    }
  }

  const Graph& graph_;
  const StoragePlan& storage_;
  const GraphUses& uses_;
  RowReads& reads_;
  const Segment& segment_;
  std::vector<int> steps_;
  std::vector<Tracked> tracked_;
  std::vector<int> tracked_of_buffer_;  // position in tracked_; -1: none
  std::set<int> untrackable_;
  BandPlan plan_;
};

}  // namespace

std::optional<BandPlan> PlanBands(const Graph& graph, const StoragePlan& storage,
                                  const GraphUses& uses, RowReads& reads, const Segment& segment) {
  return BandPlanner(graph, storage, uses, reads, segment).Run();
}

}  // namespace berth
