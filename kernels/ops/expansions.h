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
// The value itself where it has the dtype already (and no `result` is given).
ValueId ApplyCast(GraphRewriter& rewrite, ValueId value, DType to, ValueId result = ValueId::kNone);
// saturate(round_half_even(value) + zero_point) as an integer of at most 16 bits; both operands are
// float32.
ValueId ApplyRoundAndShift(GraphRewriter& rewrite, ValueId value, ValueId zero_point, DType to,
                           ValueId result = ValueId::kNone);
// The numbers 0, step, 2 step, ... as an int64 constant along `axis` of `rank`, other extents 1.
ValueId Positions(GraphRewriter& rewrite, int64_t count, int axis, int rank, int64_t step = 1);
// A constant of rank 0.
Tensor IntegerScalar(DType dtype, int64_t value);
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
