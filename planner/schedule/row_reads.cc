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

const std::vector<RowRead>* RowReads::Of(int step) {
  Entry& entry = steps_[static_cast<size_t>(step)];
  if (!entry.is_known) {
    entry.reads = Find(graph_.nodes[static_cast<size_t>(step)]);
    entry.is_known = true;
  }
  return entry.reads ? &*entry.reads : nullptr;
}

std::optional<std::vector<RowRead>> RowReads::Find(const Node& node) const {
  const PartRule rule = GetOpDef(node.kind).part;
  if (rule == nullptr || node.outputs.size() != 1) return std::nullopt;
  const Shape& out = graph_.at(node.outputs[0]).type.shape;
  if (out.rank() <= kRowAxis + 1 || out.ElementCount() == 0) return std::nullopt;
  const NodeCall call(graph_, node);
  if (!rule(call.call(), 0, kRowAxis, {0, 1})) return std::nullopt;
  std::vector<RowRead> reads;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == ValueId::kNone || graph_.at(id).constant != nullptr) continue;
    RowRead read{id, true, RunsOnMatrixUnit(node.kind) && IsVectorResult(id), {}, {}};
    for (int64_t row = 0; row < out[kRowAxis]; ++row) {
      const PartRead part = *rule(call.call(), static_cast<int>(i), kRowAxis, {row, 1});
      read.reads_rows = part.axis == kRowAxis;
      Append(part.range, read);
    }
    MakeMonotone(read);
    reads.push_back(std::move(read));
  }
  for (const FusedOp& fused : node.tail) {
    for (const ValueId id : fused.operands) {
      if (id == ValueId::kNone || graph_.at(id).constant != nullptr) continue;
      const Shape& shape = graph_.at(id).type.shape;
      const bool same_rows = shape.rank() == out.rank() && shape[kRowAxis] == out[kRowAxis];
      RowRead read{id, true, false, {}, {}};
      for (int64_t row = 0; row < out[kRowAxis]; ++row) {
        Append(same_rows ? IndexRange{row, 1} : WholeRead(shape, kRowAxis).range, read);
      }
      reads.push_back(std::move(read));
    }
  }
  return reads;
}

}  // namespace berth
