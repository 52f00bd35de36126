// QuantizeLinear: saturate(round_half_even(x / scale) + zero_point).
//
// One command where x and scale are float32 and the zero point is one known number; other forms
// expand: 16-bit floats divide in their own arithmetic, a zero point that varies or is not known
// is added in float, which is exact wherever the result does not saturate.
//
// Formula: ONNX QuantizeLinear.
#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/quantization.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

using Kind = QuantizationForm::Kind;

absl::StatusOr<DType> OutputDType(const OpCall& call) {
  const int64_t stated = call.node->attributes.Int("output_dtype", 0);
  DType dtype = call.HasInput(2) ? call.input(2).dtype : DType::kUInt8;
  if (stated != 0) {
    const auto named = DTypeFromOnnx(stated);
    if (!named) return Unimplemented("output_dtype {} is not supported", stated);
    if (call.HasInput(2) && *named != dtype) {
      return InvalidArgument("output_dtype {} and a zero point of {}", DTypeName(*named),
                             DTypeName(dtype));
    }
    dtype = *named;
  }
  if (!IsQuantizedDType(dtype)) {
    return Unimplemented("quantizing to {} is not supported", DTypeName(dtype));
  }
  return dtype;
}

absl::StatusOr<std::vector<TensorType>> QuantizeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(ResolveQuantization(call).status());
  const DType dtype = call.input(0).dtype;
  if ((!IsFloat(dtype) || dtype == DType::kFloat64) && dtype != DType::kInt32) {
    return Unimplemented("quantizing {} is not supported", DTypeName(dtype));
  }
  BERTH_ASSIGN_OR_RETURN(const DType result, OutputDType(call));
  return std::vector<TensorType>{{result, call.input(0).shape}};
}

bool IsDirect(const OpCall& call) {
  const auto form = ResolveQuantization(call);
  return form.ok() && (form->kind == Kind::kTensor || form->kind == Kind::kBroadcast) &&
         call.input(0).dtype == DType::kFloat32 && call.input(1).dtype == DType::kFloat32 &&
         (!call.HasInput(2) || UniformInteger(call.Constant(2)));
}

// x and scale as float32 with the same quotient.
struct Dividend {
  ValueId x, scale;
};
Dividend WidenedDividend(const OpCall& call, ValueId scale, GraphRewriter& rewrite) {
  const ValueId x = call.node->inputs[0];
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kInt32 || call.input(1).dtype != dtype) {
    return {ApplyCast(rewrite, x, DType::kFloat32), ApplyCast(rewrite, scale, DType::kFloat32)};
  }
  const ValueId quotient = rewrite.Apply(OpKind::kDiv, {x, scale});
  return {ApplyCast(rewrite, quotient, DType::kFloat32), rewrite.ScalarF32(1)};
}

absl::Status ExpandQuantize(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const QuantizationForm form, ResolveQuantization(call));
  const ValueId result = call.node->outputs[0];
  const DType dtype = call.output().dtype;
  const auto [x, scale] = WidenedDividend(call, PlacedScales(call, form, 1, rewrite), rewrite);
  const auto known = call.HasInput(2) ? UniformInteger(call.Constant(2)) : 0;
  if (known) {
    Attributes attributes;
    attributes.Set("broadcast", int64_t{1});
    const ValueId zero_point = rewrite.Constant(IntegerScalar(dtype, *known));
    rewrite.Apply(OpKind::kQuantizeLinear, {x, scale, zero_point}, std::move(attributes), result);
    return rewrite.status();
  }
  const ValueId zero_point =
      ApplyCast(rewrite, PlacedScales(call, form, 2, rewrite), DType::kFloat32);
  ApplyRoundAndShift(rewrite, rewrite.Apply(OpKind::kDiv, {x, scale}), zero_point, dtype, result);
  return rewrite.status();
}

bool QuantizeExpands(const OpCall& call) { return !IsDirect(call); }

absl::StatusOr<VectorSteps> QuantizeSteps(const ElementwiseUse& use) {
  return ScaledSteps(VectorStep::Form::kQuantize, use);
}

}  // namespace

const OpDef& QuantizeLinearOp() {
  static const OpDef def = [] {
    OpDef op = ElementwiseOp(OpKind::kQuantizeLinear, QuantizeTypes, QuantizeSteps);
    op.expand = ExpandQuantize;
    op.expands = QuantizeExpands;
    return op;
  }();
  return def;
}

}  // namespace berth
