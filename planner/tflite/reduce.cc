// Reductions and softmax.
#include "kernels/onnx_dtype.h"
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

absl::Status Reduce(TfliteOpImport& op, OpKind kind) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::ReducerOptions>());
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.KnownInts(1, "axes"));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  if (axes.empty()) return op.SetReal(0, x);
  Attributes attributes;
  attributes.Set("keepdims", int64_t{options->keep_dims()});
  if (kind == OpKind::kReduceSum) {  // takes its axes as an operand
    BERTH_ASSIGN_OR_RETURN(const ValueId sum,
                           op.Apply(kind, {x, op.Int64s(axes)}, std::move(attributes)));
    return op.SetReal(0, sum);
  }
  attributes.Set("axes", std::move(axes));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(kind, {x}, std::move(attributes)));
  return op.SetReal(0, result);
}

// The order of stored numbers is that of real ones.
absl::Status ArgReduce(TfliteOpImport& op, OpKind kind) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, op.KnownInts(1, "axis"));
  if (axis.size() != 1) return InvalidArgument("{} axes, one is expected", axis.size());
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  Attributes attributes;
  attributes.Set("axis", axis[0]);
  attributes.Set("keepdims", int64_t{0});
  BERTH_ASSIGN_OR_RETURN(ValueId positions, op.Apply(kind, {x}, std::move(attributes)));
  BERTH_ASSIGN_OR_RETURN(const TensorType declared, op.DeclaredOutput());
  if (declared.dtype != DType::kInt64) {
    Attributes to;
    to.Set("to", DTypeToOnnx(declared.dtype));
    BERTH_ASSIGN_OR_RETURN(positions, op.Apply(OpKind::kCast, {positions}, std::move(to)));
  }
  return op.SetStored(0, positions);
}

absl::StatusOr<ValueId> OverLastAxis(TfliteOpImport& op, OpKind kind, ValueId x) {
  Attributes attributes;
  attributes.Set("axis", int64_t{-1});
  return op.Apply(kind, {x}, std::move(attributes));
}

}  // namespace

absl::Status Mean(TfliteOpImport& op) { return Reduce(op, OpKind::kReduceMean); }
absl::Status Sum(TfliteOpImport& op) { return Reduce(op, OpKind::kReduceSum); }
absl::Status ReduceMax(TfliteOpImport& op) { return Reduce(op, OpKind::kReduceMax); }
absl::Status ReduceMin(TfliteOpImport& op) { return Reduce(op, OpKind::kReduceMin); }
absl::Status ArgMax(TfliteOpImport& op) { return ArgReduce(op, OpKind::kArgMax); }
absl::Status ArgMin(TfliteOpImport& op) { return ArgReduce(op, OpKind::kArgMin); }

absl::Status Softmax(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::SoftmaxOptions>());
  BERTH_ASSIGN_OR_RETURN(ValueId x, op.Real(0));
  if (options->beta() != 1.0f) {
    BERTH_ASSIGN_OR_RETURN(x, op.Apply(OpKind::kMul, {x, op.Scalar(options->beta())}));
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, OverLastAxis(op, OpKind::kSoftmax, x));
  return op.SetReal(0, result);
}

absl::Status LogSoftmax(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, OverLastAxis(op, OpKind::kLogSoftmax, x));
  return op.SetReal(0, result);
}

// x over its length along the last axis, which counts as 1e-6 at least.
absl::Status L2Normalization(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId square, op.Apply(OpKind::kMul, {x, x}));
  BERTH_ASSIGN_OR_RETURN(const ValueId sum,
                         op.Apply(OpKind::kReduceSum, {square, op.Int64s({-1})}));
  BERTH_ASSIGN_OR_RETURN(const ValueId root, op.Apply(OpKind::kSqrt, {sum}));
  BERTH_ASSIGN_OR_RETURN(const ValueId length, op.Apply(OpKind::kMax, {root, op.Scalar(1e-6f)}));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kDiv, {x, length}));
  const auto* options = op.op().builtin_options_as<tfl::L2NormOptions>();
  return op.SetReal(0, result,
                    options == nullptr ? tfl::Activation::NONE : options->fused_activation());
}

}  // namespace berth::tfl_ops
