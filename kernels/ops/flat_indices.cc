#include "kernels/ops/flat_indices.h"

#include "kernels/ops/expansions.h"

namespace berth {
namespace {

ValueId Number(GraphRewriter& rewrite, int64_t value) {
  return rewrite.Constant(IntegerScalar(DType::kInt64, value));
}

}  // namespace

absl::Status CheckIndexed(const Shape& data, const Shape& indices, int axis) {
  for (int i = 0; i < data.rank(); ++i) {
    if (i == axis || indices[i] <= data[i]) continue;
    return InvalidArgument("indices {} go beyond data {} along axis {}", indices.ToString(),
                           data.ToString(), i);
  }
  return absl::OkStatus();
}

ValueId ApplyFlatIndices(GraphRewriter& rewrite, const std::vector<IndexedAxis>& axes,
                         const std::vector<ValueId>& offsets, int64_t row_count) {
  const auto apply = [&](OpKind kind, ValueId a, ValueId b) { return rewrite.Apply(kind, {a, b}); };
  ValueId flat = ValueId::kNone, is_valid = ValueId::kNone;
  for (const IndexedAxis& axis : axes) {
    const ValueId extent = Number(rewrite, axis.extent), zero = Number(rewrite, 0);
    const ValueId is_negative = apply(OpKind::kLess, axis.index, zero);
    const ValueId from_end = apply(OpKind::kAdd, axis.index, extent);
    const ValueId place = rewrite.Apply(OpKind::kWhere, {is_negative, from_end, axis.index});
    const ValueId is_inside = apply(OpKind::kAnd, apply(OpKind::kGreaterOrEqual, place, zero),
                                    apply(OpKind::kLess, place, extent));
    const ValueId rows =
        axis.stride == 1 ? place : apply(OpKind::kMul, place, Number(rewrite, axis.stride));
    is_valid = is_valid == ValueId::kNone ? is_inside : apply(OpKind::kAnd, is_valid, is_inside);
    flat = flat == ValueId::kNone ? rows : apply(OpKind::kAdd, flat, rows);
  }
  for (const ValueId offset : offsets) flat = apply(OpKind::kAdd, flat, offset);
  return rewrite.Apply(OpKind::kWhere, {is_valid, flat, Number(rewrite, row_count)});
}

std::vector<ValueId> PlaceOffsets(GraphRewriter& rewrite, const Shape& places,
                                  const std::vector<int64_t>& strides, int without) {
  std::vector<ValueId> offsets;
  for (int axis = 0; axis < static_cast<int>(strides.size()); ++axis) {
    if (axis == without || places[axis] <= 1) continue;
    offsets.push_back(
        Positions(rewrite, places[axis], axis, places.rank(), strides[static_cast<size_t>(axis)]));
  }
  return offsets;
}

}  // namespace berth
