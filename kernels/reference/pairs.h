// Elementwise references of two operands.
#pragma once

#include "kernels/ops/legacy_broadcast.h"
#include "kernels/reference/arithmetic.h"

namespace berth {

// out = f(a, b) on the operands' dtype; `second` is the shape under which b broadcasts.
template <typename F>
void MapPairs(const ConstTensorView& a, const ConstTensorView& b, const Shape& second,
              const TensorView& out, F f) {
  const std::vector<size_t> at_a = BroadcastIndices(a.type.shape, out.type.shape);
  const std::vector<size_t> at_b = BroadcastIndices(second, out.type.shape);
  VisitDType(a.type.dtype, [&]<typename T>() {
    const auto x = a.Values<T>(), y = b.Values<T>();
    const auto apply = [&]<typename R>(absl::Span<R> values) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = FromArithmetic<R>(f(ToArithmetic(x[at_a[i]]), ToArithmetic(y[at_b[i]])));
      }
    };
    if (out.type.dtype == a.type.dtype) {
      apply(out.Values<T>());
    } else {
      apply(out.Values<bool>());
    }
  });
}

template <typename F>
absl::Status Pair(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                  absl::Span<const TensorView> outputs, F f) {
  BERTH_ASSIGN_OR_RETURN(const Shape second, LegacyOperandShape(call));
  MapPairs(inputs[0], inputs[1], second, outputs[0], f);
  return absl::OkStatus();
}

}  // namespace berth
