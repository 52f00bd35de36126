#include "kernels/ops/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"

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

absl::StatusOr<QuantizationForm> FormOfBlocks(const OpCall& call, int64_t block) {
  const Shape& data = call.input(0).shape;
  const Shape& scale = call.input(1).shape;
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", 1), data.rank()));
  constexpr int64_t kMostExtent = int64_t{1} << 24;  // an index for each is held
  if (data[axis] > kMostExtent) return Unimplemented("{} elements in blocks", data[axis]);
  bool fits = block > 0 && scale.rank() == data.rank();
  for (int i = 0; fits && i < data.rank(); ++i) {
    fits = scale[i] == (i == axis ? CeilDiv(data[i], block) : data[i]);
  }
  if (fits) return QuantizationForm{Kind::kBlocks, axis, block};
  return InvalidArgument("scales {} for {} in blocks of {} along axis {}", scale.ToString(),
                         data.ToString(), block, axis);
}

absl::StatusOr<QuantizationForm> FormOfScale(const OpCall& call) {
  const Shape& data = call.input(0).shape;
  const Shape& scale = call.input(1).shape;
  const Attributes& attributes = call.node->attributes;
  if (const int64_t block = attributes.Int("block_size", 0); block != 0) {
    return FormOfBlocks(call, block);
  }
  if (attributes.Int("broadcast", 0) != 0) {
    BERTH_RETURN_IF_ERROR(CheckBroadcast(call, 1));
    return QuantizationForm{Kind::kBroadcast, 0};
  }
  if (scale.rank() <= 1 && scale.ElementCount() == 1) return QuantizationForm{};
  if (scale.rank() > 1) {
    return InvalidArgument("a scale of shape {} without a block_size", scale.ToString());
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
  } else if (form.kind == Kind::kBlocks) {
    if (call.input(2).shape == call.input(1).shape) return form;
    return InvalidArgument("zero points {} for scales {}", call.input(2).shape.ToString(),
                           call.input(1).shape.ToString());
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

ValueId PlacedScales(const OpCall& call, const QuantizationForm& form, int input,
                     GraphRewriter& rewrite) {
  const ValueId value = call.node->inputs[static_cast<size_t>(input)];
  const Shape& data = call.input(0).shape;
  if (form.kind == Kind::kAxis) {
    const int64_t extent = call.input(input).shape[0];
    return ApplyReshape(rewrite, value, Shape(AlongAxisShape(data.rank(), form.axis, extent)));
  }
  if (form.kind != Kind::kBlocks) return value;
  std::vector<int64_t> block_of;
  for (int64_t i = 0; i < data[form.axis]; ++i) block_of.push_back(i / form.block_size);
  Attributes attributes;
  attributes.Set("axis", int64_t{form.axis});
  return rewrite.Apply(OpKind::kGather, {value, rewrite.Int64s(block_of)}, std::move(attributes));
}

std::vector<int64_t> AlongAxisShape(int rank, int axis, int64_t extent) {
  std::vector<int64_t> shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = extent;
  return shape;
}

}  // namespace berth
