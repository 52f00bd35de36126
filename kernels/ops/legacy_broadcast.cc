#include "kernels/ops/legacy_broadcast.h"

#include "kernels/rewrite.h"

namespace berth {
namespace {

bool IsOld(const OpCall& call) { return call.node->opset > 0 && call.node->opset < 7; }

Shape PlacedAt(const Shape& shape, int64_t axis, int rank) {
  std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
  for (int i = 0; i < shape.rank(); ++i) extents[static_cast<size_t>(axis + i)] = shape[i];
  return Shape(std::move(extents));
}

// One slope for each channel, before PRelu took any shape that broadcasts.
Shape ChannelSlope(const Shape& x, const Shape& slope) {
  if (slope.rank() != 1 || x.rank() < 2 || slope[0] != x[1]) return slope;
  return PlacedAt(slope, 1, x.rank());
}

}  // namespace

absl::StatusOr<Shape> LegacyOperandShape(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  if (!IsOld(call)) return b;
  if (call.node->kind == OpKind::kPRelu) return ChannelSlope(a, b);
  if (call.node->attributes.Int("broadcast", 0) == 0) {
    if (a == b) return b;
    return InvalidArgument("shapes {} and {} differ and broadcast is 0", a.ToString(),
                           b.ToString());
  }
  const int64_t axis = call.node->attributes.Int("axis", a.rank() - b.rank());
  if (axis < 0 || axis + b.rank() > a.rank()) {
    return InvalidArgument("shape {} at axis {} does not lie within {}", b.ToString(), axis,
                           a.ToString());
  }
  const Shape placed = PlacedAt(b, axis, a.rank());
  for (int i = 0; i < a.rank(); ++i) {
    if (placed[i] != 1 && placed[i] != a[i]) {
      return InvalidArgument("shape {} at axis {} does not broadcast to {}", b.ToString(), axis,
                             a.ToString());
    }
  }
  return placed;
}

bool IsLegacyBroadcast(const OpCall& call) {
  if (!IsOld(call)) return false;
  const auto placed = LegacyOperandShape(call);
  return placed.ok() && *placed != call.input(1).shape;
}

absl::Status ExpandLegacyBroadcast(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const Shape placed, LegacyOperandShape(call));
  const std::vector<ValueId>& inputs = call.node->inputs;
  const ValueId operand =
      rewrite.Apply(OpKind::kReshape, {inputs[1], rewrite.Int64s(placed.extents())});
  rewrite.Apply(call.node->kind, {inputs[0], operand}, {}, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace berth
