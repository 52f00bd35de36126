// MaxPool and AveragePool over 1 to 3 spatial axes; the global pools expand to reductions.
//
// Formula: ONNX MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/pool_lower.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

std::vector<TensorType> PooledType(const OpCall& call, const AxisWindows& axes) {
  const TensorType& x = call.input(0);
  absl::InlinedVector<int64_t, 3> spatial;
  for (const AxisWindow& axis : axes) spatial.push_back(axis.output);
  const int64_t channels = x.shape[ChannelAxis(call.node->layout, x.shape.rank())];
  return {{x.dtype, ActivationShape(call.node->layout, x.shape[0], spatial, channels)}};
}

// The pool unit computes in float.
absl::Status CheckNotDouble(DType dtype) {
  if (dtype != DType::kFloat64) return absl::OkStatus();
  return Unimplemented("dtype float64 is not supported");
}

absl::StatusOr<std::vector<TensorType>> InferMaxPool(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  if (call.node->outputs.size() > 1 && call.node->outputs[1] != ValueId::kNone) {
    return Unimplemented("the Indices output is not supported");
  }
  const DType dtype = call.input(0).dtype;
  if (!IsFloat(dtype) && dtype != DType::kInt8 && dtype != DType::kUInt8) {
    return InvalidArgument("dtype {} is not float, int8 or uint8", DTypeName(dtype));
  }
  BERTH_RETURN_IF_ERROR(CheckNotDouble(dtype));
  BERTH_ASSIGN_OR_RETURN(const AxisWindows axes, ResolvePoolWindow(call));
  std::vector<TensorType> types = PooledType(call, axes);
  types.resize(call.node->outputs.size());
  return types;
}

absl::StatusOr<std::vector<TensorType>> InferAveragePool(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(CheckNotDouble(call.input(0).dtype));
  BERTH_ASSIGN_OR_RETURN(const AxisWindows axes, ResolvePoolWindow(call));
  return PooledType(call, axes);
}

absl::StatusOr<std::vector<TensorType>> InferGlobalPool(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  const TensorType& x = call.input(0);
  BERTH_RETURN_IF_ERROR(CheckSpatialRank(x.shape));
  TensorType pooled = x;
  for (int i = 0; i < x.shape.rank() - 2; ++i) {
    int64_t& extent = pooled.shape[SpatialAxis(call.node->layout, i)];
    if (extent < 1) return InvalidArgument("input {} has an empty axis", x.shape.ToString());
    extent = 1;
  }
  return std::vector<TensorType>{pooled};
}

absl::Status ExpandGlobal(const OpCall& call, GraphRewriter& rewrite, OpKind reduction) {
  const Node& node = *call.node;
  std::vector<int64_t> axes;
  for (int i = 0; i < call.input(0).shape.rank() - 2; ++i) {
    axes.push_back(SpatialAxis(node.layout, i));
  }
  Attributes attributes;
  attributes.Set("keepdims", int64_t{1});
  attributes.Set("axes", axes);
  rewrite.Apply(reduction, {node.inputs[0]}, std::move(attributes), node.outputs[0]);
  return rewrite.status();
}
absl::Status ExpandGlobalAverage(const OpCall& call, GraphRewriter& rewrite) {
  return ExpandGlobal(call, rewrite, OpKind::kReduceMean);
}
absl::Status ExpandGlobalMax(const OpCall& call, GraphRewriter& rewrite) {
  return ExpandGlobal(call, rewrite, OpKind::kReduceMax);
}

}  // namespace

const OpDef& MaxPoolOp() {
  static const OpDef op = {.kind = OpKind::kMaxPool,
                           .infer_types = InferMaxPool,
                           .part = PoolPart,
                           .iteration_space = PoolSpace,
                           .tile_cost = PoolCost,
                           .lower = LowerPool};
  return op;
}
const OpDef& AveragePoolOp() {
  static const OpDef op = {.kind = OpKind::kAveragePool,
                           .infer_types = InferAveragePool,
                           .part = PoolPart,
                           .iteration_space = PoolSpace,
                           .tile_cost = PoolCost,
                           .lower = LowerPool};
  return op;
}
const OpDef& GlobalAveragePoolOp() {
  static const OpDef op = {.kind = OpKind::kGlobalAveragePool,
                           .infer_types = InferGlobalPool,
                           .expand = ExpandGlobalAverage};
  return op;
}
const OpDef& GlobalMaxPoolOp() {
  static const OpDef op = {
      .kind = OpKind::kGlobalMaxPool, .infer_types = InferGlobalPool, .expand = ExpandGlobalMax};
  return op;
}

}  // namespace berth
