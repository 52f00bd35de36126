#include "planner/schedule/row_reads.h"

#include <algorithm>

#include "kernels/tail.h"

namespace berth {
namespace {

// The ends of what rows read never go back, so that a range of rows follows from its ends.
void Append(IndexRange rows, RowRead& read) {
  read.begin.push_back(rows.begin);
  read.end.push_back(read.end.empty() ? rows.end() : std::max(rows.end(), read.end.back()));
}
// The beginnings likewise, seen from the last row.
void MakeMonotone(RowRead& read) {
  for (size_t row = read.begin.size(); row-- > 1;) {
    read.begin[row - 1] = std::min(read.begin[row - 1], read.begin[row]);
  }
}

// The axis of the output along which the op reads rows of its first input.
int AxisOfRows(PartRule rule, const OpCall& call) {
  const auto reads_rows = [&](int axis) {
    const std::optional<PartRead> read = rule(call, 0, axis, {0, 1});
    return read && read->axis == kRowAxis;
  };
  if (call.input(0).shape.rank() != call.output().shape.rank()) return kRowAxis;
  for (int axis = kRowAxis + 1; axis < call.output().shape.rank() && !reads_rows(kRowAxis);
       ++axis) {
    if (reads_rows(axis)) return axis;
  }
  return kRowAxis;
}

bool RunsOnMatrixUnit(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kMatMul ||
         kind == OpKind::kGemm;
}

}  // namespace

// Whether the last unit that touches the value is the vector unit.
bool RowReads::IsVectorResult(ValueId value) const {
  const int producer = uses_.producer[Index(value)];
  if (producer < 0) return false;
  const Node& node = graph_.nodes[static_cast<size_t>(producer)];
  return !RunsOnMatrixUnit(node.kind) || AbsorbActivation(graph_, node).ops < node.tail.size();
}

const StepRows* RowReads::Of(int step) {
  Entry& entry = steps_[static_cast<size_t>(step)];
  if (!entry.is_known) {
    entry.rows = Find(graph_.nodes[static_cast<size_t>(step)]);
    entry.is_known = true;
  }
  return entry.rows ? &*entry.rows : nullptr;
}

std::optional<StepRows> RowReads::Find(const Node& node) const {
  const PartRule rule = GetOpDef(node.kind).part;
  if (rule == nullptr || node.outputs.size() != 1) return std::nullopt;
  const Shape& out = graph_.at(node.outputs[0]).type.shape;
  if (out.rank() <= kRowAxis + 1 || out.ElementCount() == 0) return std::nullopt;
  const NodeCall call(graph_, node);
  StepRows step;
  // What an op of the graph makes may come row by row; an input of the model is read as it is.
  const bool is_made = !node.inputs.empty() && node.inputs[0] != ValueId::kNone &&
                       uses_.producer[Index(node.inputs[0])] >= 0;
  step.axis = is_made ? AxisOfRows(rule, call.call()) : kRowAxis;
  if (!rule(call.call(), 0, step.axis, {0, 1})) return std::nullopt;
  step.rows = out[step.axis];
  const auto add = [&](ValueId id, bool may_lag, auto&& read_of_row) {
    if (id == ValueId::kNone || graph_.at(id).constant != nullptr) return;
    RowRead read{id, true, may_lag, {}, {}};
    for (int64_t row = 0; row < step.rows; ++row) {
      const PartRead part = read_of_row(row);
      read.reads_rows = part.axis == kRowAxis;
      Append(part.range, read);
    }
    MakeMonotone(read);
    step.reads.push_back(std::move(read));
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool lags = RunsOnMatrixUnit(node.kind) && id != ValueId::kNone && IsVectorResult(id);
    add(id, lags, [&](int64_t row) {
      return *rule(call.call(), static_cast<int>(i), step.axis, {row, 1});
    });
  }
  for (const FusedOp& fused : node.tail) {
    for (const ValueId id : fused.operands) {
      if (id == ValueId::kNone) continue;
      const Shape& shape = graph_.at(id).type.shape;
      const bool same_rows = shape.rank() == out.rank() && shape[step.axis] == out[step.axis];
      add(id, false, [&](int64_t row) {
        return same_rows ? PartRead{step.axis, {row, 1}} : WholeRead(shape, step.axis);
      });
    }
  }
  return step;
}

}  // namespace berth
