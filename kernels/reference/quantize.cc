// References of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, in float32 as ONNX
// states them.
#include <algorithm>
#include <cmath>

#include "kernels/ops/quantization.h"
#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// Scale and zero point of every element.
struct ElementScales {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  std::vector<size_t> position;  // of an element's scale
};

// Of each element, the position of its block's scale.
std::vector<size_t> BlockPositions(const Shape& data, const Shape& scales,
                                   const QuantizationForm& form) {
  const int64_t inner = data.Product(form.axis + 1, data.rank());
  const int64_t extent = data[form.axis], blocks = scales[form.axis];
  std::vector<size_t> positions;
  for (int64_t i = 0; i < data.ElementCount(); ++i) {
    const int64_t outer = i / inner / extent, along = i / inner % extent;
    positions.push_back(
        static_cast<size_t>((outer * blocks + along / form.block_size) * inner + i % inner));
  }
  return positions;
}

absl::StatusOr<ElementScales> ScalesOf(const OpCall& call, Inputs inputs) {
  BERTH_ASSIGN_OR_RETURN(const QuantizationForm form, ResolveQuantization(call));
  const Shape& data = call.input(0).shape;
  Shape shape = call.input(1).shape;
  if (form.kind == QuantizationForm::Kind::kAxis) {
    shape = Shape(AlongAxisShape(data.rank(), form.axis, shape[0]));
  } else if (form.kind == QuantizationForm::Kind::kTensor) {
    shape = Shape{};
  }
  ElementScales result;
  BERTH_ASSIGN_OR_RETURN(result.scales, ToFloatValues(inputs[1]));
  result.position = form.kind == QuantizationForm::Kind::kBlocks ? BlockPositions(data, shape, form)
                                                                 : BroadcastIndices(shape, data);
  result.zero_points.assign(result.scales.size(), 0);
  if (!call.HasInput(2)) return result;
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> zero_points, ToInt64Values(inputs[2]));
  // A zero point that broadcasts on its own is one number for all.
  for (size_t i = 0; i < result.zero_points.size(); ++i) {
    result.zero_points[i] = zero_points[zero_points.size() == 1 ? 0 : i];
  }
  return result;
}

// NaN is the lowest value.
double Saturated(double value, const IntegerRange& range) {
  if (!(value > range.least)) return range.least;
  return std::min<double>(value, range.most);
}

// The quotient in the arithmetic of the operands.
float Quotient(DType dtype, DType scale_dtype, float x, float scale) {
  const float quotient = x / scale;
  if (dtype != scale_dtype) return quotient;
  if (dtype == DType::kFloat16) return static_cast<float>(Half(quotient));
  if (dtype == DType::kBFloat16) return static_cast<float>(BFloat(quotient));
  return quotient;
}

}  // namespace

absl::Status QuantizeLinearReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const ElementScales by, ScalesOf(call, inputs));
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> x, ToFloatValues(inputs[0]));
  const IntegerRange range = RangeOfDType(call.output().dtype);
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t at = by.position[i];
    const float quotient = Quotient(call.input(0).dtype, call.input(1).dtype, x[i], by.scales[at]);
    const double shifted =
        std::nearbyint(double{quotient}) + static_cast<double>(by.zero_points[at]);
    y.push_back(Saturated(shifted, range));
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

absl::Status DequantizeLinearReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const ElementScales by, ScalesOf(call, inputs));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> x, ToInt64Values(inputs[0]));
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t at = by.position[i];
    y.push_back(static_cast<float>(x[i] - by.zero_points[at]) * by.scales[at]);
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

absl::Status DynamicQuantizeLinearReference(const OpCall&, Inputs inputs, Outputs outputs) {
  const absl::Span<const float> x = inputs[0].Values<float>();
  float least = 0, most = 0;
  for (const float value : x) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const float range = most - least;
  const float scale = range == 0 ? 1 : range / 255;
  const float zero_point = std::nearbyint(std::clamp((0 - least) / scale, 0.0f, 255.0f));
  for (size_t i = 0; i < x.size(); ++i) {
    const float shifted = std::nearbyint(x[i] / scale) + zero_point;
    outputs[0].Values<uint8_t>()[i] = static_cast<uint8_t>(Saturated(shifted, {0, 255}));
  }
  outputs[1].Values<float>()[0] = scale;
  outputs[2].Values<uint8_t>()[0] = static_cast<uint8_t>(zero_point);
  return absl::OkStatus();
}

}  // namespace berth
