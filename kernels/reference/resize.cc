// References of Resize and Upsample: one axis after the other, in double.
#include <cstring>

#include "kernels/ops/resize_axis.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

// Resamples one axis: `copy` adds weight * source element to target element.
template <typename Body>
void ForEachTap(const Shape& shape, const ResizeAxis& axis, const AxisTaps& taps, Body&& body) {
  const int64_t outer = shape.Product(0, axis.axis);
  const int64_t inner = shape.Product(axis.axis + 1, shape.rank());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t position = 0; position < axis.output; ++position) {
      for (int64_t t = 0; t < taps.taps; ++t) {
        const auto tap = static_cast<size_t>(position * taps.taps + t);
        for (int64_t i = 0; i < inner; ++i) {
          body(static_cast<size_t>((o * axis.output + position) * inner + i),
               static_cast<size_t>((o * axis.input + taps.indices[tap]) * inner + i),
               taps.weights[tap]);
        }
      }
    }
  }
}

}  // namespace

absl::Status ResizeReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                             absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const ResizePlan plan, ResolveResize(call));
  const auto width = static_cast<size_t>(DTypeBytes(call.output().dtype));
  const bool exact = plan.mode == ResizeMode::kNearest;  // copies bytes, whatever the dtype
  std::vector<double> values;
  std::vector<std::byte> bytes;
  Shape shape = call.input(0).shape;
  if (exact) {
    bytes.assign(inputs[0].data, inputs[0].data + call.input(0).ByteCount());
  } else {
    values = ToDoubles(inputs[0]);
  }
  for (const ResizeAxis& axis : plan.axes) {
    const AxisTaps taps = MakeAxisTaps(plan, axis);
    Shape resized = shape;
    resized[axis.axis] = axis.output;
    const auto count = static_cast<size_t>(resized.ElementCount());
    if (exact) {
      std::vector<std::byte> result(count * width);
      ForEachTap(shape, axis, taps, [&](size_t to, size_t from, float) {
        std::memcpy(result.data() + to * width, bytes.data() + from * width, width);
      });
      bytes = std::move(result);
    } else {
      std::vector<double> result(count);
      ForEachTap(shape, axis, taps, [&](size_t to, size_t from, float weight) {
        result[to] += weight * values[from];
      });
      values = std::move(result);
    }
    shape = resized;
  }
  if (!exact) {
    FromDoubles(values, outputs[0]);
  } else if (!bytes.empty()) {
    std::memcpy(outputs[0].data, bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

absl::Status UpsampleReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                               absl::Span<const TensorView> outputs) {
  return ResizeReference(call, inputs, outputs);
}

}  // namespace berth
