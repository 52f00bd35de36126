// The simple nodes that many ops expand into, with their shapes known at compile time.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"

namespace berth {

// `value` under another shape of as many elements.
ValueId ApplyReshape(GraphRewriter& rewrite, ValueId value, const Shape& shape,
                     ValueId result = ValueId::kNone);
ValueId ApplyTranspose(GraphRewriter& rewrite, ValueId value, std::vector<int64_t> perm,
                       ValueId result = ValueId::kNone);
// Elements begin, begin + step, ... (`count` of them) of one axis; step may be negative.
struct AxisRange {
  int axis = 0;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};
ValueId ApplySlice(GraphRewriter& rewrite, ValueId value, const AxisRange& range,
                   ValueId result = ValueId::kNone);

}  // namespace berth
