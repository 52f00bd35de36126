#include "kernels/ops/expansions.h"

#include <limits>
#include <type_traits>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/quantization.h"

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

ValueId ApplyCast(GraphRewriter& rewrite, ValueId value, DType to, ValueId result) {
  if (!rewrite.status().ok()) return ValueId::kNone;
  if (rewrite.TypeOf(value).dtype == to && result == ValueId::kNone) return value;
  Attributes attributes;
  attributes.Set("to", DTypeToOnnx(to));
  return rewrite.Apply(OpKind::kCast, {value}, std::move(attributes), result);
}

ValueId ApplyRoundAndShift(GraphRewriter& rewrite, ValueId value, ValueId zero_point, DType to,
                           ValueId result) {
  const IntegerRange range = RangeOfDType(to);
  const ValueId rounded = rewrite.Apply(OpKind::kRound, {value});
  const ValueId shifted = rewrite.Apply(OpKind::kAdd, {rounded, zero_point});
  const ValueId bounded =
      rewrite.Apply(OpKind::kClip, {shifted, rewrite.ScalarF32(static_cast<float>(range.least)),
                                    rewrite.ScalarF32(static_cast<float>(range.most))});
  return ApplyCast(rewrite, bounded, to, result);
}

ValueId Positions(GraphRewriter& rewrite, int64_t count, int axis, int rank, int64_t step) {
  constexpr int64_t kMostPlaces = int64_t{1} << 26;
  if (count > kMostPlaces) {
    rewrite.Fail(ResourceExhausted("an axis of {} places to number, at most {} are supported",
                                   count, kMostPlaces));
    return ValueId::kNone;
  }
  std::vector<int64_t> extents(static_cast<size_t>(rank), 1), values;
  extents[static_cast<size_t>(axis)] = count;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * step);
  return rewrite.Constant(
      Tensor::FromValues<int64_t>(DType::kInt64, Shape(std::move(extents)), values));
}

Tensor IntegerScalar(DType dtype, int64_t value) {
  Tensor tensor(TensorType{dtype, Shape{}});
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) tensor.Values<T>()[0] = static_cast<T>(value);
  });
  return tensor;
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
