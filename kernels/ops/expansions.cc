#include "kernels/ops/expansions.h"

#include <limits>

namespace berth {

ValueId ApplyReshape(GraphRewriter& rewrite, ValueId value, const Shape& shape, ValueId result) {
  Attributes attributes;
  attributes.Set("allowzero", int64_t{1});  // every extent is meant as it stands
  return rewrite.Apply(OpKind::kReshape, {value, rewrite.Int64s(shape.extents())},
                       std::move(attributes), result);
}

ValueId ApplyTranspose(GraphRewriter& rewrite, ValueId value, std::vector<int64_t> perm,
                       ValueId result) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return rewrite.Apply(OpKind::kTranspose, {value}, std::move(attributes), result);
}

ValueId ApplySlice(GraphRewriter& rewrite, ValueId value, const AxisRange& range, ValueId result) {
  int64_t end = range.begin + range.count * range.step;
  // -1 would count from the back.
  if (end < 0) end = std::numeric_limits<int64_t>::min();
  return rewrite.Apply(OpKind::kSlice,
                       {value, rewrite.Int64s({range.begin}), rewrite.Int64s({end}),
                        rewrite.Int64s({range.axis}), rewrite.Int64s({range.step})},
                       {}, result);
}

}  // namespace berth
