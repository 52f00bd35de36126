// Identity, and Dropout, which outside of training is one.
#include <algorithm>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/flat_copy.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> IdentityTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  return std::vector<TensorType>{call.input(0)};
}

// Training draws random numbers, unless the ratio is 0.
absl::Status CheckInference(const OpCall& call) {
  if (call.node->opset < 12 || !call.HasInput(2)) return absl::OkStatus();
  const Tensor* training = call.Constant(2);
  if (training == nullptr) {
    return FailedPrecondition("training_mode is not known at compile time");
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> mode, ToInt64Values(training->view()));
  if (mode.size() != 1) return InvalidArgument("training_mode has {} elements", mode.size());
  if (mode[0] == 0) return absl::OkStatus();
  if (call.HasInput(1) && call.Constant(1) != nullptr) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<float> ratio, ToFloatValues(call.Constant(1)->view()));
    if (ratio.size() == 1 && ratio[0] == 0.0f) return absl::OkStatus();
  }
  return Unimplemented("training_mode = true");
}

absl::StatusOr<std::vector<TensorType>> DropoutTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, call.node->opset < 12 ? 1 : 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (call.node->opset < 7 && call.node->attributes.Int("is_test", 0) == 0) {
    return Unimplemented("is_test = 0 (training)");
  }
  BERTH_RETURN_IF_ERROR(CheckInference(call));
  std::vector<TensorType> types{call.input(0)};
  if (call.node->outputs.size() > 1) {
    types.push_back(
        {call.node->opset < 10 ? call.input(0).dtype : DType::kBool, call.input(0).shape});
  }
  return types;
}

absl::Status ExpandDropout(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  if (node.outputs[0] != ValueId::kNone) rewrite.Alias(node.inputs[0], node.outputs[0]);
  if (node.outputs.size() > 1 && node.outputs[1] != ValueId::kNone) {
    Tensor mask(TensorType{DType::kBool, call.input(0).shape});  // nothing was dropped
    std::fill(mask.bytes().begin(), mask.bytes().end(), std::byte{1});
    ValueId all = rewrite.Constant(std::move(mask));
    if (call.output(1).dtype == DType::kBool) {
      rewrite.Alias(all, node.outputs[1]);
    } else {
      Attributes attributes;
      attributes.Set("to", DTypeToOnnx(call.output(1).dtype));
      rewrite.Apply(OpKind::kCast, {all}, std::move(attributes), node.outputs[1]);
    }
  }
  return rewrite.status();
}

}  // namespace

const OpDef& IdentityOp() {
  static const OpDef def = FlatCopyOp(OpKind::kIdentity, IdentityTypes);
  return def;
}

const OpDef& DropoutOp() {
  static const OpDef def{
      .kind = OpKind::kDropout, .infer_types = DropoutTypes, .expand = ExpandDropout};
  return def;
}

}  // namespace berth
