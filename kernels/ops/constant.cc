// Constant, ConstantOfShape, Shape and Size: known once the shapes are, so that constant folding
// removes them and nothing is lowered.
#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> ConstantTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 0, 0));
  const Attributes& attributes = call.node->attributes;
  const auto one = [](TensorType type) { return std::vector<TensorType>{std::move(type)}; };
  if (const Tensor* value = attributes.TensorOrNull("value")) return one(value->type());
  if (attributes.Has("value_float")) return one({DType::kFloat32, Shape{}});
  if (attributes.Has("value_int")) return one({DType::kInt64, Shape{}});
  if (attributes.Has("value_floats")) {
    const auto count = static_cast<int64_t>(attributes.Floats("value_floats").size());
    return one({DType::kFloat32, Shape{count}});
  }
  if (attributes.Has("value_ints")) {
    const auto count = static_cast<int64_t>(attributes.Ints("value_ints").size());
    return one({DType::kInt64, Shape{count}});
  }
  for (const char* name : {"sparse_value", "value_string", "value_strings"}) {
    if (attributes.Has(name)) return Unimplemented("attribute {}", name);
  }
  return InvalidArgument("no attribute holds the value");
}

absl::StatusOr<std::vector<TensorType>> ConstantOfShapeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  if (call.input(0).dtype != DType::kInt64) {
    return InvalidArgument("the shape is {}, expected int64", call.input(0).ToString());
  }
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> extents, IntOperand(call, 0, "shape"));
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  const Tensor* value = call.node->attributes.TensorOrNull("value");
  if (value != nullptr && value->shape().ElementCount() != 1) {
    return InvalidArgument("attribute value has shape {}, expected one element",
                           value->shape().ToString());
  }
  return std::vector<TensorType>{
      {value != nullptr ? value->dtype() : DType::kFloat32, std::move(shape)}};
}

absl::StatusOr<std::vector<TensorType>> ShapeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const int64_t rank = call.input(0).shape.rank();
  const auto clamp = [rank](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamp(call.node->attributes.Int("start", 0));
  const int64_t end = clamp(call.node->attributes.Int("end", rank));
  return std::vector<TensorType>{{DType::kInt64, Shape{std::max<int64_t>(0, end - start)}}};
}

absl::StatusOr<std::vector<TensorType>> SizeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  return std::vector<TensorType>{{DType::kInt64, Shape{}}};
}

}  // namespace

const OpDef& ConstantOp() {
  static const OpDef def{.kind = OpKind::kConstant, .infer_types = ConstantTypes};
  return def;
}

const OpDef& ConstantOfShapeOp() {
  static const OpDef def{.kind = OpKind::kConstantOfShape, .infer_types = ConstantOfShapeTypes};
  return def;
}

const OpDef& SizeOp() {
  static const OpDef def{.kind = OpKind::kSize, .infer_types = SizeTypes};
  return def;
}

const OpDef& ShapeOp() {
  static const OpDef def{.kind = OpKind::kShape, .infer_types = ShapeTypes};
  return def;
}

}  // namespace berth
