// DequantizeLinear: (x - zero_point) * scale.
//
// One command where the scale is float32 and the zero point is one known number; other forms
// expand: a zero point that varies or is not known is subtracted in int32, a 16-bit scale
// multiplies in float32 and the product is rounded.
//
// Formula: ONNX DequantizeLinear.
#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/quantization.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

using Kind = QuantizationForm::Kind;

absl::StatusOr<std::vector<TensorType>> DequantizeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(ResolveQuantization(call).status());
  const DType dtype = call.input(0).dtype;
  if (!IsQuantizedDType(dtype) && dtype != DType::kInt32) {
    return Unimplemented("dequantizing {} is not supported", DTypeName(dtype));
  }
  if (call.HasInput(2) && call.input(2).dtype != dtype) {
    return InvalidArgument("the zero point is {}, the data is {}", DTypeName(call.input(2).dtype),
                           DTypeName(dtype));
  }
  DType result = call.input(1).dtype;
  if (const int64_t stated = call.node->attributes.Int("output_dtype", 0); stated != 0) {
    const auto named = DTypeFromOnnx(stated);
    if (!named || !IsFloat(*named) || *named == DType::kFloat64) {
      return Unimplemented("output_dtype {} is not supported", stated);
    }
    result = *named;
  }
  return std::vector<TensorType>{{result, call.input(0).shape}};
}

bool IsDirect(const OpCall& call) {
  const auto form = ResolveQuantization(call);
  return form.ok() && (form->kind == Kind::kTensor || form->kind == Kind::kBroadcast) &&
         call.input(1).dtype == DType::kFloat32 && call.output().dtype == DType::kFloat32 &&
         (!call.HasInput(2) || UniformInteger(call.Constant(2)));
}
bool DequantizeExpands(const OpCall& call) { return !IsDirect(call); }

absl::Status ExpandDequantize(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const QuantizationForm form, ResolveQuantization(call));
  const std::vector<ValueId>& inputs = call.node->inputs;
  const ValueId result = call.node->outputs[0];
  const auto placed = [&](int i) { return PlacedScales(call, form, i, rewrite); };
  const ValueId scale = ApplyCast(rewrite, placed(1), DType::kFloat32);
  const bool narrows = call.output().dtype != DType::kFloat32;
  const ValueId product = narrows ? ValueId::kNone : result;
  ValueId value = ValueId::kNone;
  const auto known = call.HasInput(2) ? UniformInteger(call.Constant(2)) : 0;
  if (known) {
    Attributes attributes;
    attributes.Set("broadcast", int64_t{1});
    const ValueId zero_point = rewrite.Constant(IntegerScalar(call.input(0).dtype, *known));
    value = rewrite.Apply(OpKind::kDequantizeLinear, {inputs[0], scale, zero_point},
                          std::move(attributes), product);
  } else {
    const ValueId distance =
        rewrite.Apply(OpKind::kSub, {ApplyCast(rewrite, inputs[0], DType::kInt32),
                                     ApplyCast(rewrite, placed(2), DType::kInt32)});
    value = rewrite.Apply(OpKind::kMul, {ApplyCast(rewrite, distance, DType::kFloat32), scale}, {},
                          product);
  }
  if (narrows) ApplyCast(rewrite, value, call.output().dtype, result);
  return rewrite.status();
}

absl::StatusOr<VectorSteps> DequantizeSteps(const ElementwiseUse& use) {
  return ScaledSteps(VectorStep::Form::kDequantize, use);
}

}  // namespace

const OpDef& DequantizeLinearOp() {
  static const OpDef def = [] {
    OpDef op = ElementwiseOp(OpKind::kDequantizeLinear, DequantizeTypes, DequantizeSteps);
    op.expand = ExpandDequantize;
    op.expands = DequantizeExpands;
    return op;
  }();
  return def;
}

}  // namespace berth
