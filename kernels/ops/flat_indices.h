// Indices along several axes as one index of rows, computed on the vector unit: what the gathers
// and scatters by elements or tuples have in common.
#pragma once

#include <vector>

#include "kernels/rewrite.h"

namespace berth {

// One axis: `index` (int64) counts from the end where it is negative.
struct IndexedAxis {
  ValueId index = ValueId::kNone;
  int64_t extent = 0;  // of the axis
  int64_t stride = 1;  // rows from one place on it to the next
};

// Elements of `data` are named by indices along `axis`, whose shape has the same rank: along the
// other axes these reach at most as far as the data.
absl::Status CheckIndexed(const Shape& data, const Shape& indices, int axis);

// The sum of index * stride and of `offsets` (int64, they broadcast), or `row_count`, which is no
// row and so fails what reads it, where any index is outside its axis.
ValueId ApplyFlatIndices(GraphRewriter& rewrite, const std::vector<IndexedAxis>& axes,
                         const std::vector<ValueId>& offsets, int64_t row_count);

// For indices that stand in a tensor of shape `places` with an axis for each of `strides`: the
// offsets of a place along all axes but `without`.
std::vector<ValueId> PlaceOffsets(GraphRewriter& rewrite, const Shape& places,
                                  const std::vector<int64_t>& strides, int without);

}  // namespace berth
