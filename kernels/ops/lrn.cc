// LRN: x / (bias + alpha / size * sum of squares over a window of channels) ^ beta.
//
// Expands to primitives: the window over channels is an average pool that takes the channel axis
// for a spatial one.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> InferLrn(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  const TensorType& x = call.input(0);
  if (x.shape.rank() < 2) {
    return InvalidArgument("input {} has no channel axis", x.shape.ToString());
  }
  const int64_t window = call.node->attributes.Int("size", 0);
  if (window < 1 || window >= 1 << 15) return InvalidArgument("size is {}", window);
  return std::vector<TensorType>{x};
}

// The average over the channel window, samples outside counting as zeros.
ValueId ChannelAverage(const OpCall& call, ValueId values, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& shape = call.input(0).shape;
  const int channel = ChannelAxis(node.layout, shape.rank());
  // As NDHWC: [batch, rows, all between, channels, all after] has the channels where columns stand.
  // Batch and rows keep their axes, so that the op can be computed row by row.
  const int64_t window = node.attributes.Int("size", 1);
  const int64_t rows = channel > 1 ? shape[1] : 1;
  const std::vector<int64_t> as_columns = {
      shape[0], rows, channel > 1 ? shape.Product(2, channel) : 1, shape[channel],
      shape.Product(channel + 1, shape.rank())};
  const ValueId reshaped = rewrite.Apply(OpKind::kReshape, {values, rewrite.Int64s(as_columns)});
  Node pool;
  pool.kind = OpKind::kAveragePool;
  pool.opset = node.opset;
  pool.layout = DataLayout::kNhwc;
  pool.inputs = {reshaped};
  pool.attributes.Set("kernel_shape", std::vector<int64_t>{1, 1, window});
  pool.attributes.Set("pads", std::vector<int64_t>{0, 0, (window - 1) / 2, 0, 0, window / 2});
  pool.attributes.Set("count_include_pad", int64_t{1});
  const ValueId pooled = rewrite.ApplyNode(std::move(pool));
  return rewrite.Apply(OpKind::kReshape, {pooled, rewrite.Int64s(shape.extents())});
}

absl::Status ExpandLrn(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const ValueId x = node.inputs[0];
  const DType dtype = call.input(0).dtype;
  const auto scalar = [&](float value) { return rewrite.Constant(ScalarTensor(dtype, value)); };
  const ValueId square = rewrite.Apply(OpKind::kMul, {x, x});
  const ValueId average = ChannelAverage(call, square, rewrite);
  const ValueId scaled =
      rewrite.Apply(OpKind::kMul, {average, scalar(node.attributes.Float("alpha", 1e-4f))});
  const ValueId shifted =
      rewrite.Apply(OpKind::kAdd, {scaled, scalar(node.attributes.Float("bias", 1.0f))});
  const ValueId power =
      rewrite.Apply(OpKind::kPow, {shifted, scalar(-node.attributes.Float("beta", 0.75f))});
  rewrite.Apply(OpKind::kMul, {x, power}, {}, node.outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& LRNOp() {
  static const OpDef op = {.kind = OpKind::kLRN, .infer_types = InferLrn, .expand = ExpandLrn};
  return op;
}

}  // namespace berth
