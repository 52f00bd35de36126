// The quantized operators of com.microsoft that compute in float between a DequantizeLinear of each
// operand and a QuantizeLinear of the result: they expand into just that.
//
// Formula: contrib operators of ONNX Runtime (QLinearAdd, QLinearMul, QLinearSigmoid,
// QLinearLeakyRelu, QLinearAveragePool, QLinearGlobalAveragePool, QLinearConcat, QGemm).
#include "kernels/ops/qlinear_float.h"

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/quantization.h"

namespace berth {
namespace {

constexpr int kOperandInputs = 3;  // a tensor, its scale, its zero point

// A node of DequantizeLinear or QuantizeLinear without a graph, for its type rule.
struct ScaledCall {
  Node node;
  std::vector<TensorType> inputs;
  std::vector<const Tensor*> constants;
  OpCall call;

  ScaledCall(OpKind kind, std::vector<TensorType> types) : inputs(std::move(types)) {
    node.kind = kind;
    constants.resize(inputs.size());
    call.node = &node;
    call.inputs = inputs;
    call.constants = constants;
  }
  absl::StatusOr<TensorType> Infer() const {
    BERTH_ASSIGN_OR_RETURN(const auto types, GetOpDef(node.kind).infer_types(call));
    return types[0];
  }
};

TensorType TypeAt(const OpCall& call, int i) {
  return call.HasInput(i) ? call.input(i) : TensorType{};
}

absl::StatusOr<TensorType> DequantizedType(const OpCall& call, int first) {
  for (int i = first; i < first + 2; ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kNumeric));
  }
  const ScaledCall scaled(OpKind::kDequantizeLinear,
                          {call.input(first), call.input(first + 1), TypeAt(call, first + 2)});
  auto type = scaled.Infer();
  if (!type.ok()) return Annotate(type.status(), fmt::format("input {}", first));
  if (type->dtype != DType::kFloat32) {
    return Unimplemented("input {} (a scale) is {}", first + 1, DTypeName(type->dtype));
  }
  return type;
}

}  // namespace

QLinearOperands OperandsOfQLinear(const OpCall& call) {
  QLinearOperands o;
  const int count = static_cast<int>(call.inputs.size());
  switch (call.node->kind) {
    case OpKind::kQLinearAdd:
    case OpKind::kQLinearMul:
      o.inner = call.node->kind == OpKind::kQLinearAdd ? OpKind::kAdd : OpKind::kMul;
      o.operands = {0, 3};
      o.y_scale = 6;
      break;
    case OpKind::kQLinearConcat:
      o.inner = OpKind::kConcat;
      for (int i = 2; i + kOperandInputs <= count; i += kOperandInputs) o.operands.push_back(i);
      o.y_scale = 0;
      break;
    case OpKind::kQGemm:
      o.inner = OpKind::kGemm;
      o.operands = {0, 3};
      o.bias = 6;
      o.y_scale = 7;
      break;
    case OpKind::kQLinearSigmoid:
      o.inner = OpKind::kSigmoid;
      break;
    case OpKind::kQLinearLeakyRelu:
      o.inner = OpKind::kLeakyRelu;
      break;
    case OpKind::kQLinearAveragePool:
      o.inner = OpKind::kAveragePool;
      break;
    default:
      o.inner = OpKind::kGlobalAveragePool;
      break;
  }
  return o;
}

absl::StatusOr<InnerCall> InnerCallOf(const OpCall& call) {
  const QLinearOperands o = OperandsOfQLinear(call);
  if (call.node->attributes.Int("channels_last", 0) != 0) {
    return Unimplemented("channels_last 1 is not supported");
  }
  if (o.operands.empty()) return InvalidArgument("no operand");
  InnerCall inner;
  inner.node = *call.node;
  inner.node.kind = o.inner;
  inner.node.opset = kRewriteOpset;
  inner.node.inputs.clear();
  for (const int first : o.operands) {
    BERTH_ASSIGN_OR_RETURN(TensorType type, DequantizedType(call, first));
    inner.types.push_back(std::move(type));
    inner.node.inputs.push_back(ValueId::kNone);
  }
  if (o.bias >= 0 && call.HasInput(o.bias)) {
    if (call.input(o.bias).dtype != DType::kInt32) {
      return InvalidArgument("C is {}, not int32", DTypeName(call.input(o.bias).dtype));
    }
    inner.types.push_back({DType::kFloat32, call.input(o.bias).shape});
    inner.node.inputs.push_back(ValueId::kNone);
  }
  return inner;
}

absl::StatusOr<std::vector<TensorType>> InnerCall::Infer() {
  constants.assign(types.size(), nullptr);
  call.node = &node;
  call.inputs = types;
  call.constants = constants;
  BERTH_ASSIGN_OR_RETURN(outputs, GetOpDef(node.kind).infer_types(call));
  call.outputs = outputs;
  return outputs;
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferQLinearFloat(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 4, 3 * 4096));
  BERTH_ASSIGN_OR_RETURN(InnerCall inner, InnerCallOf(call));
  BERTH_ASSIGN_OR_RETURN(std::vector<TensorType> types, inner.Infer());
  const int y_scale = OperandsOfQLinear(call).y_scale;
  if (!call.HasInput(y_scale)) {
    if (call.node->kind == OpKind::kQGemm) return types;
    return InvalidArgument("input {} (the result's scale) is missing", y_scale);
  }
  const ScaledCall quantize(OpKind::kQuantizeLinear,
                            {types[0], call.input(y_scale), TypeAt(call, y_scale + 1)});
  BERTH_ASSIGN_OR_RETURN(types[0], quantize.Infer());
  return types;
}

// C of QGemm counts in steps of both scales.
ValueId DequantizedBias(const OpCall& call, const QLinearOperands& o, GraphRewriter& rewrite) {
  const auto at = [&](int i) { return call.node->inputs[static_cast<size_t>(i)]; };
  const auto scale = [&](int i) {
    const int64_t extent = call.input(i).shape.ElementCount();
    return ApplyReshape(rewrite, at(i), extent == 1 ? Shape{} : Shape{extent});
  };
  const ValueId product =
      rewrite.Apply(OpKind::kMul, {scale(o.operands[0] + 1), scale(o.operands[1] + 1)});
  return rewrite.Apply(OpKind::kMul, {ApplyCast(rewrite, at(o.bias), DType::kFloat32), product});
}

// Scales of QGemm's B stand over the columns.
Attributes OperandAttributes(const OpCall& call) {
  Attributes attributes;
  if (call.node->kind == OpKind::kQGemm) {
    attributes.Set("axis", call.node->attributes.Int("transB", 0) != 0 ? int64_t{0} : int64_t{1});
  }
  return attributes;
}

absl::Status ExpandQLinearFloat(const OpCall& call, GraphRewriter& rewrite) {
  const QLinearOperands o = OperandsOfQLinear(call);
  const auto at = [&](int i) {
    const auto index = static_cast<size_t>(i);
    return index < call.node->inputs.size() ? call.node->inputs[index] : ValueId::kNone;
  };
  Node inner;
  inner.kind = o.inner;
  inner.attributes = call.node->attributes;
  for (const int first : o.operands) {
    std::vector<ValueId> operands = {at(first), at(first + 1)};
    if (call.HasInput(first + 2)) operands.push_back(at(first + 2));
    inner.inputs.push_back(
        rewrite.Apply(OpKind::kDequantizeLinear, std::move(operands), OperandAttributes(call)));
  }
  if (o.bias >= 0 && call.HasInput(o.bias)) {
    inner.inputs.push_back(DequantizedBias(call, o, rewrite));
  }
  const ValueId result = call.node->outputs[0];
  if (!call.HasInput(o.y_scale)) {
    rewrite.ApplyNode(std::move(inner), result);
    return rewrite.status();
  }
  std::vector<ValueId> operands = {rewrite.ApplyNode(std::move(inner)), at(o.y_scale)};
  if (call.HasInput(o.y_scale + 1)) operands.push_back(at(o.y_scale + 1));
  rewrite.Apply(OpKind::kQuantizeLinear, std::move(operands), {}, result);
  return rewrite.status();
}

}  // namespace

#define BERTH_QLINEAR_OP(NAME)                                                                    \
  const OpDef& NAME##Op() {                                                                       \
    static const OpDef def = {                                                                    \
        .kind = OpKind::k##NAME, .infer_types = InferQLinearFloat, .expand = ExpandQLinearFloat}; \
    return def;                                                                                   \
  }
BERTH_QLINEAR_OP(QLinearAdd)
BERTH_QLINEAR_OP(QLinearMul)
BERTH_QLINEAR_OP(QLinearSigmoid)
BERTH_QLINEAR_OP(QLinearLeakyRelu)
BERTH_QLINEAR_OP(QLinearAveragePool)
BERTH_QLINEAR_OP(QLinearGlobalAveragePool)
BERTH_QLINEAR_OP(QLinearConcat)
BERTH_QLINEAR_OP(QGemm)
#undef BERTH_QLINEAR_OP

}  // namespace berth
