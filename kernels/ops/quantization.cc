#include "kernels/ops/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/dtype_check.h"

namespace berth {
namespace {

using Kind = QuantizationForm::Kind;

absl::Status CheckBroadcast(const OpCall& call, int i) {
  const Shape& data = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const Shape both, BroadcastShapes(data, call.input(i).shape));
  if (both == data) return absl::OkStatus();
  return InvalidArgument("input {} {} does not broadcast to {}", i, call.input(i).shape.ToString(),
                         data.ToString());
}

absl::StatusOr<QuantizationForm> FormOfScale(const OpCall& call) {
  const Shape& data = call.input(0).shape;
  const Shape& scale = call.input(1).shape;
  const Attributes& attributes = call.node->attributes;
  if (const int64_t block = attributes.Int("block_size", 0); block != 0) {
    return Unimplemented("block_size {} is not supported", block);
  }
  if (attributes.Int("broadcast", 0) != 0) {
    BERTH_RETURN_IF_ERROR(CheckBroadcast(call, 1));
    return QuantizationForm{Kind::kBroadcast, 0};
  }
  if (scale.rank() <= 1 && scale.ElementCount() == 1) return QuantizationForm{};
  if (scale.rank() > 1) {
    return Unimplemented("a scale of shape {} (blocked quantization) is not supported",
                         scale.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.Int("axis", 1), data.rank()));
  if (scale[0] != data[axis]) {
    return InvalidArgument("{} scales along axis {} of {}", scale[0], axis, data.ToString());
  }
  return QuantizationForm{Kind::kAxis, axis};
}

}  // namespace

absl::StatusOr<QuantizationForm> ResolveQuantization(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kFloat));
  if (call.input(1).dtype == DType::kFloat64) return Unimplemented("a scale of float64");
  BERTH_ASSIGN_OR_RETURN(const QuantizationForm form, FormOfScale(call));
  if (!call.HasInput(2)) return form;
  if (form.kind == Kind::kBroadcast) {
    BERTH_RETURN_IF_ERROR(CheckBroadcast(call, 2));
  } else if (call.input(2).shape.rank() > 1 ||
             call.input(2).shape.ElementCount() != call.input(1).shape.ElementCount()) {
    return InvalidArgument("zero points {} for scales {}", call.input(2).shape.ToString(),
                           call.input(1).shape.ToString());
  }
  return form;
}

bool IsQuantizedDType(DType dtype) { return IsInteger(dtype) && DTypeBytes(dtype) <= 2; }

IntegerRange RangeOfDType(DType dtype) {
  IntegerRange range;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2 && !std::is_same_v<T, bool>) {
      range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    }
  });
  return range;
}

std::optional<int64_t> UniformInteger(const Tensor* tensor) {
  if (tensor == nullptr || !IsInteger(tensor->dtype())) return std::nullopt;
  const auto values = ToInt64Values(tensor->view());
  if (!values.ok() || values->empty()) return std::nullopt;
  const bool uniform = std::all_of(values->begin(), values->end(),
                                   [&](int64_t value) { return value == (*values)[0]; });
  return uniform ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<float> SingleFloat(const Tensor* tensor) {
  if (tensor == nullptr || tensor->shape().ElementCount() != 1) return std::nullopt;
  const auto values = ToFloatValues(tensor->view());
  return values.ok() ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<TensorQuantization> KnownTensorQuantization(const OpCall& call) {
  const std::optional<float> scale = SingleFloat(call.Constant(1));
  if (!scale || call.input(1).dtype != DType::kFloat32) return std::nullopt;
  if (!std::isnormal(*scale) || *scale <= 0) return std::nullopt;
  if (!call.HasInput(2)) return TensorQuantization{*scale, 0};
  const std::optional<int64_t> zero_point = UniformInteger(call.Constant(2));
  if (!zero_point || call.input(2).shape.ElementCount() != 1) return std::nullopt;
  return TensorQuantization{*scale, static_cast<int32_t>(*zero_point)};
}

absl::StatusOr<VectorSteps> ScaledSteps(VectorStep::Form form, const ElementwiseUse& use) {
  VectorStep step;
  step.form = form;
  step.operands[0] = 0;
  if (const auto scale = SingleFloat(use.constants[1])) {
    step.alpha = *scale;
  } else {
    step.operands[1] = 1;
  }
  if (use.Has(2)) {
    const auto zero_point = UniformInteger(use.constants[2]);
    if (!zero_point) return FailedPrecondition("the zero point is not one known number");
    step.zero_point = static_cast<int32_t>(*zero_point);
  }
  return VectorSteps{{step}};
}

std::vector<int64_t> AlongAxisShape(int rank, int axis, int64_t extent) {
  std::vector<int64_t> shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = extent;
  return shape;
}

}  // namespace berth
