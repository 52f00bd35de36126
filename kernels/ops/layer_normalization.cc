// LayerNormalization, as a composition: (x - mean) / sqrt(variance + epsilon) * scale + bias over
// the axes from `axis` on, computed in float32 where stash_type says so.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/normalization.h"
#include "kernels/ops/reduce_axes.h"

namespace berth {
namespace {

constexpr int64_t kOnnxFloat = 1;

absl::Status CheckParameter(const OpCall& call, int i) {
  BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
  const Shape& x = call.input(0).shape;
  const auto shape = BroadcastShapes(x, call.input(i).shape);
  if (!shape.ok() || *shape != x) {
    return InvalidArgument("input {} has shape {}, it must broadcast to {}", i,
                           call.input(i).shape.ToString(), x.ToString());
  }
  return absl::OkStatus();
}

DType StashType(const OpCall& call) {
  const int64_t stash = call.node->attributes.Int("stash_type", kOnnxFloat);
  // Double is never narrowed.
  if (stash == kOnnxFloat && call.input(0).dtype != DType::kFloat64) return DType::kFloat32;
  return call.input(0).dtype;
}

absl::StatusOr<std::vector<TensorType>> Types(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(CheckParameter(call, 1));
  if (call.HasInput(2)) BERTH_RETURN_IF_ERROR(CheckParameter(call, 2));
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, -1));
  Shape statistic = call.input(0).shape;
  for (int i = axis; i < statistic.rank(); ++i) statistic[i] = 1;
  std::vector<TensorType> types = {
      call.input(0), {StashType(call), statistic}, {StashType(call), statistic}};
  if (call.node->outputs.empty() || call.node->outputs.size() > 3) {
    return InvalidArgument("{} outputs, the operator makes 1 to 3", call.node->outputs.size());
  }
  types.resize(call.node->outputs.size());
  return types;
}

absl::Status Expand(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, -1));
  const Node& node = *call.node;
  const auto output = [&](size_t i) {
    return i < node.outputs.size() ? node.outputs[i] : ValueId::kNone;
  };
  std::vector<int64_t> axes;
  for (int i = axis; i < call.input(0).shape.rank(); ++i) axes.push_back(i);
  const ValueId x = ApplyCast(rewrite, node.inputs[0], StashType(call));
  const float epsilon = node.attributes.Float("epsilon", 1e-5f);
  const ValueId normal_stashed =
      ApplyNormalization(rewrite, x, axes, epsilon, {output(1), output(2)});
  if (!rewrite.status().ok()) return rewrite.status();
  ValueId normal = ApplyCast(rewrite, normal_stashed, call.input(0).dtype);
  if (!call.HasInput(2)) {
    rewrite.Apply(OpKind::kMul, {normal, node.inputs[1]}, {}, output(0));
    return rewrite.status();
  }
  normal = rewrite.Apply(OpKind::kMul, {normal, node.inputs[1]});
  rewrite.Apply(OpKind::kAdd, {normal, node.inputs[2]}, {}, output(0));
  return rewrite.status();
}

}  // namespace

const OpDef& LayerNormalizationOp() {
  static const OpDef def = [] {
    OpDef normalization;
    normalization.kind = OpKind::kLayerNormalization;
    normalization.infer_types = Types;
    normalization.expand = Expand;
    return normalization;
  }();
  return def;
}

}  // namespace berth
