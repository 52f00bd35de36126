// Cast: "to" is a number of ONNX, or its name before opset 6. CastLike takes the dtype of its
// second operand.
#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/ops.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

// "FLOAT", "INT64", ... of opset 1.
std::optional<DType> DTypeFromOldName(std::string name) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (name == "float") return DType::kFloat32;
  if (name == "double") return DType::kFloat64;
  return DTypeFromName(name);
}

absl::StatusOr<std::vector<TensorType>> CastTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const Attributes& attributes = call.node->attributes;
  if (!attributes.Has("to")) return InvalidArgument("attribute to is missing");
  const std::string name = attributes.String("to", "");
  const auto to = name.empty() ? DTypeFromOnnx(attributes.Int("to", 0)) : DTypeFromOldName(name);
  if (!to || *to == DType::kUndefined) {
    return Unimplemented("attribute to = {}: no such dtype here",
                         name.empty() ? std::to_string(attributes.Int("to", 0)) : name);
  }
  return std::vector<TensorType>{{*to, call.input(0).shape}};
}

absl::StatusOr<VectorSteps> CastSteps(const ElementwiseUse& use) {
  if (use.dtype(0) == use.result) return VectorSteps{{UnaryStep(UnaryFunction::kIdentity, 0)}};
  VectorStep step;
  step.form = VectorStep::Form::kCast;
  step.operands[0] = 0;
  return VectorSteps{{step}};
}

absl::StatusOr<std::vector<TensorType>> CastLikeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  for (int i = 0; i < 2; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kAny));
  return std::vector<TensorType>{{call.input(1).dtype, call.input(0).shape}};
}

absl::Status ExpandCastLike(const OpCall& call, GraphRewriter& rewrite) {
  ApplyCast(rewrite, call.node->inputs[0], call.input(1).dtype, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& CastLikeOp() {
  static const OpDef def{
      .kind = OpKind::kCastLike, .infer_types = CastLikeTypes, .expand = ExpandCastLike};
  return def;
}

const OpDef& CastOp() {
  static const OpDef def = ElementwiseOp(OpKind::kCast, CastTypes, CastSteps);
  return def;
}

}  // namespace berth
