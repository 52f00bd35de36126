// DynamicQuantizeLinear: scale and zero point of uint8 from the data's own range, widened to hold
// zero. Data of zeros only gets the scale 1.
//
// Formula: ONNX DynamicQuantizeLinear.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"

namespace berth {
namespace {

constexpr float kMostByte = 255;

absl::StatusOr<std::vector<TensorType>> InferDynamicQuantize(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (call.input(0).dtype != DType::kFloat32) {
    return InvalidArgument("input 0 is {}, the operator takes float32",
                           DTypeName(call.input(0).dtype));
  }
  return std::vector<TensorType>{
      {DType::kUInt8, call.input(0).shape}, {DType::kFloat32, Shape{}}, {DType::kUInt8, Shape{}}};
}

ValueId WholeExtremum(const OpCall& call, OpKind kind, OpKind with_zero, GraphRewriter& rewrite) {
  Attributes attributes;
  attributes.Set("keepdims", int64_t{0});
  const ValueId extremum = rewrite.Apply(kind, {call.node->inputs[0]}, std::move(attributes));
  return rewrite.Apply(with_zero, {extremum, rewrite.ScalarF32(0)});
}

absl::Status ExpandDynamicQuantize(const OpCall& call, GraphRewriter& rewrite) {
  const std::vector<ValueId>& outputs = call.node->outputs;
  const auto wanted = [&](size_t i) { return outputs[i] != ValueId::kNone; };
  const ValueId zero = rewrite.ScalarF32(0), one = rewrite.ScalarF32(1);
  const ValueId most_byte = rewrite.ScalarF32(kMostByte);
  const ValueId least = WholeExtremum(call, OpKind::kReduceMin, OpKind::kMin, rewrite);
  const ValueId most = WholeExtremum(call, OpKind::kReduceMax, OpKind::kMax, rewrite);
  const ValueId range = rewrite.Apply(OpKind::kSub, {most, least});
  const ValueId is_void = rewrite.Apply(OpKind::kEqual, {range, zero});
  const ValueId step = rewrite.Apply(OpKind::kDiv, {range, most_byte});
  const ValueId scale = rewrite.Apply(OpKind::kWhere, {is_void, one, step}, {}, outputs[1]);
  const ValueId below = rewrite.Apply(OpKind::kSub, {zero, least});
  const ValueId distance = rewrite.Apply(OpKind::kDiv, {below, scale});
  const ValueId bounded = rewrite.Apply(OpKind::kClip, {distance, zero, most_byte});
  const ValueId zero_point = rewrite.Apply(OpKind::kRound, {bounded});
  if (wanted(2)) ApplyCast(rewrite, zero_point, DType::kUInt8, outputs[2]);
  const ValueId quotient = rewrite.Apply(OpKind::kDiv, {call.node->inputs[0], scale});
  if (wanted(0)) ApplyRoundAndShift(rewrite, quotient, zero_point, DType::kUInt8, outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& DynamicQuantizeLinearOp() {
  static const OpDef op = {.kind = OpKind::kDynamicQuantizeLinear,
                           .infer_types = InferDynamicQuantize,
                           .expand = ExpandDynamicQuantize};
  return op;
}

}  // namespace berth
