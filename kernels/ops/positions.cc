// Ops that compare every element's position with a number: triangles, diagonals, one-hot codes.
// The positions along an axis are a constant of that axis alone, so that nothing of the result's
// size is stored.
//
// Formulas: ONNX Trilu, EyeLike, OneHot and Hardmax.
#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/reduce_axes.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

// Column less row of the last two axes.
ValueId Diagonals(GraphRewriter& rewrite, const Shape& shape) {
  const int rank = shape.rank();
  return rewrite.Apply(OpKind::kSub, {Positions(rewrite, shape[rank - 1], 1, 2),
                                      Positions(rewrite, shape[rank - 2], 0, 2)});
}

absl::StatusOr<std::vector<TensorType>> TriluTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  if (call.input(0).shape.rank() < 2) {
    return InvalidArgument("input 0 has shape {}, it must have two axes",
                           call.input(0).shape.ToString());
  }
  if (call.HasInput(1) && call.input(1).dtype != DType::kInt64) {
    return InvalidArgument("k is {}, expected int64", DTypeName(call.input(1).dtype));
  }
  if (call.HasInput(1) && call.input(1).shape.ElementCount() != 1) {
    return InvalidArgument("k has shape {}, expected one element", call.input(1).shape.ToString());
  }
  return std::vector<TensorType>{call.input(0)};
}

absl::Status ExpandTrilu(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const bool upper = node.attributes.Int("upper", 1) != 0;
  ValueId k = rewrite.Constant(ScalarTensor(DType::kInt64, 0));
  if (call.HasInput(1)) k = ApplyReshape(rewrite, node.inputs[1], Shape{});
  const ValueId inside = rewrite.Apply(upper ? OpKind::kGreaterOrEqual : OpKind::kLessOrEqual,
                                       {Diagonals(rewrite, call.input(0).shape), k});
  const ValueId zero = rewrite.Constant(ScalarTensor(call.input(0).dtype, 0));
  rewrite.Apply(OpKind::kWhere, {inside, node.inputs[0], zero}, {}, node.outputs[0]);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> EyeLikeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  if (call.input(0).shape.rank() != 2) {
    return InvalidArgument("input 0 has shape {}, expected two axes",
                           call.input(0).shape.ToString());
  }
  DType dtype = call.input(0).dtype;
  if (call.node->attributes.Has("dtype")) {
    const int64_t number = call.node->attributes.Int("dtype", 0);
    const auto given = DTypeFromOnnx(number);
    if (!given || *given == DType::kUndefined) {
      return Unimplemented("attribute dtype = {}: no such dtype here", number);
    }
    dtype = *given;
  }
  return std::vector<TensorType>{{dtype, call.input(0).shape}};
}

absl::Status ExpandEyeLike(const OpCall& call, GraphRewriter& rewrite) {
  const ValueId k =
      rewrite.Constant(IntegerScalar(DType::kInt64, call.node->attributes.Int("k", 0)));
  const ValueId on = rewrite.Apply(OpKind::kEqual, {Diagonals(rewrite, call.input(0).shape), k});
  ApplyCast(rewrite, on, call.output().dtype, call.node->outputs[0]);
  return rewrite.status();
}

struct OneHotForm {
  int axis = 0;  // of the result
  int64_t depth = 0;
};

absl::StatusOr<int64_t> DepthOf(const OpCall& call) {
  if (!call.HasInput(1)) return InvalidArgument("input 1 (depth) is missing");
  const Tensor* known = call.Constant(1);
  if (known == nullptr) return FailedPrecondition("input 1 (depth) is not known at compile time");
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> values, ToFloatValues(known->view()));
  if (values.size() != 1) return InvalidArgument("depth has {} elements", values.size());
  if (!(values[0] >= 0 && values[0] <= 0x1p31f)) {
    return InvalidArgument("depth {} is outside [0, 2^31]", values[0]);
  }
  if (IsFloat(known->dtype())) return static_cast<int64_t>(values[0]);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, ToInt64Values(known->view()));
  return integers[0];
}

absl::StatusOr<OneHotForm> ResolveOneHot(const OpCall& call) {
  OneHotForm form;
  const int rank = call.input(0).shape.rank() + 1;
  BERTH_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(call.node->attributes.Int("axis", -1), rank));
  BERTH_ASSIGN_OR_RETURN(form.depth, DepthOf(call));
  return form;
}

absl::StatusOr<std::vector<TensorType>> OneHotTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 2, DTypeClass::kAny));
  if (call.input(2).shape != Shape{2}) {
    return InvalidArgument("values have shape {}, expected 2", call.input(2).shape.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const OneHotForm form, ResolveOneHot(call));
  std::vector<int64_t> extents = call.input(0).shape.extents();
  extents.insert(extents.begin() + form.axis, form.depth);
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  return std::vector<TensorType>{{call.input(2).dtype, std::move(shape)}};
}

// Negative indices count from the end; others outside of the depth have no place that is on.
absl::Status ExpandOneHot(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  BERTH_ASSIGN_OR_RETURN(const OneHotForm form, ResolveOneHot(call));
  const ValueId zero = rewrite.Constant(IntegerScalar(DType::kInt64, 0));
  const ValueId depth = rewrite.Constant(IntegerScalar(DType::kInt64, form.depth));
  const ValueId given = ApplyCast(rewrite, node.inputs[0], DType::kInt64);
  const ValueId is_negative = rewrite.Apply(OpKind::kLess, {given, zero});
  const ValueId from_end = rewrite.Apply(OpKind::kAdd, {given, depth});
  const ValueId index = rewrite.Apply(OpKind::kWhere, {is_negative, from_end, given});
  std::vector<int64_t> extents = call.input(0).shape.extents();
  extents.insert(extents.begin() + form.axis, 1);
  const Shape& result = call.output().shape;
  const ValueId is_on =
      rewrite.Apply(OpKind::kEqual, {ApplyReshape(rewrite, index, Shape(std::move(extents))),
                                     Positions(rewrite, form.depth, form.axis, result.rank())});
  const ValueId off = ApplySlice(rewrite, node.inputs[2], {0, 0, 1});
  const ValueId on = ApplySlice(rewrite, node.inputs[2], {0, 1, 1});
  rewrite.Apply(OpKind::kWhere, {is_on, on, off}, {}, node.outputs[0]);
  return rewrite.status();
}

// As the softmaxes: all axes from `axis` on count as one before 13.
absl::StatusOr<std::vector<TensorType>> HardmaxTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(ResolveAxis(call, call.node->opset < 13 ? 1 : -1).status());
  return std::vector<TensorType>{call.input(0)};
}

// 1 where the first largest stands, 0 elsewhere.
absl::Status ExpandHardmax(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const bool flattened = node.opset < 13;
  BERTH_ASSIGN_OR_RETURN(int axis, ResolveAxis(call, flattened ? 1 : -1));
  const Shape& whole = call.input(0).shape;
  if (whole.ElementCount() == 0) {
    rewrite.Alias(node.inputs[0], node.outputs[0]);
    return rewrite.status();
  }
  ValueId x = node.inputs[0];
  Shape shape = whole;
  if (flattened) {
    shape = Shape{whole.Product(0, axis), whole.Product(axis, whole.rank())};
    x = ApplyReshape(rewrite, x, shape);
    axis = 1;
  }
  Attributes along;
  along.Set("axis", int64_t{axis});
  const ValueId best = rewrite.Apply(OpKind::kArgMax, {x}, std::move(along));
  const ValueId is_best =
      rewrite.Apply(OpKind::kEqual, {best, Positions(rewrite, shape[axis], axis, shape.rank())});
  const DType dtype = call.output().dtype;
  if (!flattened) {
    ApplyCast(rewrite, is_best, dtype, node.outputs[0]);
  } else {
    ApplyReshape(rewrite, ApplyCast(rewrite, is_best, dtype), whole, node.outputs[0]);
  }
  return rewrite.status();
}

}  // namespace

#define BERTH_EXPANDED_OP(NAME)                                                       \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = NAME##Types, .expand = Expand##NAME}; \
    return def;                                                                       \
  }
BERTH_EXPANDED_OP(Trilu)
BERTH_EXPANDED_OP(EyeLike)
BERTH_EXPANDED_OP(OneHot)
BERTH_EXPANDED_OP(Hardmax)
#undef BERTH_EXPANDED_OP

}  // namespace berth
