// InstanceNormalization, GroupNormalization, MeanVarianceNormalization and LpNormalization as
// compositions.
//
// Formulas: ONNX operators of these names.
#include "kernels/ops/normalization.h"

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/reduce_axes.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/spatial.h"

namespace berth {

ValueId ApplyNormalization(GraphRewriter& rewrite, ValueId x, std::vector<int64_t> axes,
                           float epsilon, const NormalizationResults& results) {
  const auto scalar = [&](double value) {
    return rewrite.Constant(ScalarTensor(rewrite.TypeOf(x).dtype, value));
  };
  Attributes over;
  over.Set("axes", std::move(axes));
  const ValueId mean = rewrite.Apply(OpKind::kReduceMean, {x}, over, results.mean);
  const ValueId centred = rewrite.Apply(OpKind::kSub, {x, mean});
  const ValueId squares = rewrite.Apply(OpKind::kMul, {centred, centred});
  const ValueId variance = rewrite.Apply(OpKind::kReduceMean, {squares}, over);
  const ValueId shifted = rewrite.Apply(OpKind::kAdd, {variance, scalar(double{epsilon})});
  const ValueId deviation = rewrite.Apply(OpKind::kSqrt, {shifted});
  const ValueId inverse =
      rewrite.Apply(OpKind::kDiv, {scalar(1), deviation}, {}, results.inverse_deviation);
  return rewrite.Apply(OpKind::kMul, {centred, inverse});
}

namespace {

// Statistics of 16-bit floats are computed in float32.
DType ComputedIn(DType dtype) { return IsHalf(dtype) ? DType::kFloat32 : dtype; }

std::vector<int64_t> AxesFrom(int first, int rank) {
  std::vector<int64_t> axes;
  for (int axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// One element for each of `count` along `axis` of a tensor of `rank`.
ValueId Along(GraphRewriter& rewrite, ValueId list, int axis, int rank, int64_t count) {
  std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
  extents[static_cast<size_t>(axis)] = count;
  return ApplyReshape(rewrite, list, Shape(std::move(extents)));
}

absl::Status CheckList(const OpCall& call, int i, int64_t count) {
  BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
  if (call.input(i).dtype != call.input(0).dtype) {
    return InvalidArgument("input {} is {}, input 0 is {}", i, DTypeName(call.input(i).dtype),
                           DTypeName(call.input(0).dtype));
  }
  if (call.input(i).shape == Shape{count}) return absl::OkStatus();
  return InvalidArgument("input {} has shape {}, expected {}", i, call.input(i).shape.ToString(),
                         count);
}

absl::StatusOr<std::vector<TensorType>> InstanceNormalizationTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  const Shape& x = call.input(0).shape;
  if (x.rank() < 3) {
    return InvalidArgument("input 0 has shape {}, it must have batch, channel and spatial axes",
                           x.ToString());
  }
  for (int i = 1; i <= 2; ++i) BERTH_RETURN_IF_ERROR(CheckList(call, i, x[1]));
  return std::vector<TensorType>{call.input(0)};
}

absl::Status ExpandInstanceNormalization(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& shape = call.input(0).shape;
  const DType own = call.input(0).dtype;
  const ValueId x = ApplyCast(rewrite, node.inputs[0], ComputedIn(own));
  const ValueId normal = ApplyNormalization(rewrite, x, AxesFrom(2, shape.rank()),
                                            node.attributes.Float("epsilon", 1e-5f));
  if (!rewrite.status().ok()) return rewrite.status();
  const ValueId narrow = ApplyCast(rewrite, normal, own);
  const ValueId scaled = rewrite.Apply(
      OpKind::kMul, {narrow, Along(rewrite, node.inputs[1], 1, shape.rank(), shape[1])});
  rewrite.Apply(OpKind::kAdd, {scaled, Along(rewrite, node.inputs[2], 1, shape.rank(), shape[1])},
                {}, node.outputs[0]);
  return rewrite.status();
}

// Scale and bias: one for each group before 21, one for each channel since.
absl::StatusOr<std::vector<TensorType>> GroupNormalizationTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  const Shape& x = call.input(0).shape;
  const int64_t groups = call.node->attributes.Int("num_groups", 0);
  if (x.rank() < 2) return InvalidArgument("input 0 has shape {}", x.ToString());
  if (groups < 1 || x[1] % groups != 0) {
    return InvalidArgument("num_groups {} does not divide {} channels", groups, x[1]);
  }
  const int64_t count = call.node->opset < 21 ? groups : x[1];
  for (int i = 1; i <= 2; ++i) BERTH_RETURN_IF_ERROR(CheckList(call, i, count));
  return std::vector<TensorType>{call.input(0)};
}

absl::Status ExpandGroupNormalization(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& shape = call.input(0).shape;
  const int64_t groups = node.attributes.Int("num_groups", 1);
  const DType own = call.input(0).dtype;
  const Shape grouped{shape[0], groups, shape[1] / groups, shape.Product(2, shape.rank())};
  ValueId x = ApplyCast(rewrite, node.inputs[0], ComputedIn(own));
  x = ApplyReshape(rewrite, x, grouped);
  const ValueId normal =
      ApplyNormalization(rewrite, x, {2, 3}, node.attributes.Float("epsilon", 1e-5f));
  if (!rewrite.status().ok()) return rewrite.status();
  const ValueId narrow = ApplyCast(rewrite, normal, own);
  const Shape factors = node.opset < 21 ? Shape{groups, 1, 1} : Shape{groups, shape[1] / groups, 1};
  const ValueId scaled =
      rewrite.Apply(OpKind::kMul, {narrow, ApplyReshape(rewrite, node.inputs[1], factors)});
  const ValueId shifted =
      rewrite.Apply(OpKind::kAdd, {scaled, ApplyReshape(rewrite, node.inputs[2], factors)});
  ApplyReshape(rewrite, shifted, shape, node.outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<int64_t>> MeanVarianceAxes(const OpCall& call) {
  std::vector<int64_t> axes = {0, 2, 3};
  if (call.node->attributes.Has("axes")) axes = call.node->attributes.Ints("axes");
  BERTH_ASSIGN_OR_RETURN(const auto normal, NormalizeAxes(axes, call.input(0).shape.rank()));
  return std::vector<int64_t>(normal.begin(), normal.end());
}

absl::StatusOr<std::vector<TensorType>> MeanVarianceNormalizationTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(MeanVarianceAxes(call).status());
  return std::vector<TensorType>{call.input(0)};
}

// The deviation is enlarged, not the variance.
absl::Status ExpandMeanVarianceNormalization(const OpCall& call, GraphRewriter& rewrite) {
  constexpr double kEpsilon = 1e-9;
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> axes, MeanVarianceAxes(call));
  const DType own = call.input(0).dtype;
  const ValueId x = ApplyCast(rewrite, call.node->inputs[0], ComputedIn(own));
  Attributes over;
  over.Set("axes", std::move(axes));
  over.Set("noop_with_empty_axes", int64_t{1});
  const ValueId mean = rewrite.Apply(OpKind::kReduceMean, {x}, over);
  const ValueId centred = rewrite.Apply(OpKind::kSub, {x, mean});
  const ValueId squares = rewrite.Apply(OpKind::kMul, {centred, centred});
  const ValueId variance = rewrite.Apply(OpKind::kReduceMean, {squares}, over);
  const ValueId epsilon = rewrite.Constant(ScalarTensor(ComputedIn(own), kEpsilon));
  const ValueId deviation =
      rewrite.Apply(OpKind::kAdd, {rewrite.Apply(OpKind::kSqrt, {variance}), epsilon});
  const ValueId normal = rewrite.Apply(OpKind::kDiv, {centred, deviation});
  if (!rewrite.status().ok()) return rewrite.status();
  ApplyCast(rewrite, normal, own, call.node->outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> LpNormalizationTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(ResolveAxis(call, -1).status());
  const int64_t p = call.node->attributes.Int("p", 2);
  if (p != 1 && p != 2) return InvalidArgument("p is {}, not 1 or 2", p);
  return std::vector<TensorType>{call.input(0)};
}

// Zeros stay zeros.
absl::Status ExpandLpNormalization(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, -1));
  const ValueId x = call.node->inputs[0];
  const DType dtype = call.input(0).dtype;
  const bool absolute = call.node->attributes.Int("p", 2) == 1;
  Attributes along;
  along.Set("axes", std::vector<int64_t>{axis});
  const ValueId norm =
      rewrite.Apply(absolute ? OpKind::kReduceL1 : OpKind::kReduceL2, {x}, std::move(along));
  const ValueId zero = rewrite.Constant(ScalarTensor(dtype, 0));
  const ValueId one = rewrite.Constant(ScalarTensor(dtype, 1));
  const ValueId is_zero = rewrite.Apply(OpKind::kEqual, {norm, zero});
  const ValueId divisor = rewrite.Apply(OpKind::kWhere, {is_zero, one, norm});
  rewrite.Apply(OpKind::kDiv, {x, divisor}, {}, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

#define BERTH_NORMALIZATION_OP(NAME)                                                  \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = NAME##Types, .expand = Expand##NAME}; \
    return def;                                                                       \
  }
BERTH_NORMALIZATION_OP(InstanceNormalization)
BERTH_NORMALIZATION_OP(GroupNormalization)
BERTH_NORMALIZATION_OP(MeanVarianceNormalization)
BERTH_NORMALIZATION_OP(LpNormalization)
#undef BERTH_NORMALIZATION_OP

}  // namespace berth
