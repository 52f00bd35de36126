// Clip: bounds are attributes before opset 11, optional scalar inputs since.
#include <algorithm>
#include <limits>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/ops.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> ClipTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  for (int i = 1; i <= 2; ++i) {
    if (!call.HasInput(i)) continue;
    if (call.input(i).dtype != call.input(0).dtype) {
      return InvalidArgument("input {} is {}, input 0 is {}", i, DTypeName(call.input(i).dtype),
                             DTypeName(call.input(0).dtype));
    }
    if (call.input(i).shape.ElementCount() != 1) {
      return InvalidArgument("input {} has shape {}, a bound is a scalar", i,
                             call.input(i).shape.ToString());
    }
  }
  return std::vector<TensorType>{call.input(0)};
}

// The bound given as an attribute, or none at all.
float OpenBound(const ElementwiseUse& use, const char* attribute, float sign) {
  const float open = use.dtype(0) == DType::kFloat32 ? std::numeric_limits<float>::max()
                                                     : std::numeric_limits<float>::infinity();
  return use.attributes->Float(attribute, sign * open);
}

absl::StatusOr<VectorSteps> ClipSteps(const ElementwiseUse& use) {
  const bool has_low = use.Has(1) || use.attributes->Has("min");
  const bool has_high = use.Has(2) || use.attributes->Has("max");
  if (!has_low && !has_high) return VectorSteps{{UnaryStep(UnaryFunction::kIdentity, 0)}};
  const auto low = FloatScalar(use, 1), high = FloatScalar(use, 2);
  if ((!use.Has(1) || low) && (!use.Has(2) || high)) {
    const float most = high.value_or(OpenBound(use, "max", 1));
    // Where the bounds cross, the upper one wins.
    const float least = std::min(low.value_or(OpenBound(use, "min", -1)), most);
    return VectorSteps{{UnaryStep(UnaryFunction::kClip, 0, least, most)}};
  }
  VectorSteps result;
  int value = 0;
  if (use.Has(1)) {
    result.steps.push_back(BinaryStep(BinaryFunction::kMax, value, 1));
    value = VectorStep::kPrevious;
  }
  if (use.Has(2)) result.steps.push_back(BinaryStep(BinaryFunction::kMin, value, 2));
  return result;
}

}  // namespace

const OpDef& ClipOp() {
  static const OpDef def = ElementwiseOp(OpKind::kClip, ClipTypes, ClipSteps);
  return def;
}

}  // namespace berth
