// Squeeze, Unsqueeze and Flatten: reshapes to a shape known at compile time. Axes are an attribute
// before opset 13, input 1 from then on.
#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> SqueezeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const Shape& input = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const OptionalInts given, AttributeOrOperand(call, "axes", 1, 13));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(given.values, input.rank()));
  std::vector<int64_t> extents;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (named && input[axis] != 1) {
      return InvalidArgument("axis {} of shape {} is not 1", axis, input.ToString());
    }
    if (!(given.found ? named : input[axis] == 1)) extents.push_back(input[axis]);
  }
  return std::vector<TensorType>{{call.input(0).dtype, Shape(std::move(extents))}};
}

absl::StatusOr<std::vector<TensorType>> UnsqueezeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const Shape& input = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const OptionalInts given, AttributeOrOperand(call, "axes", 1, 13));
  if (!given.found) return InvalidArgument("axes are missing");
  const int rank = input.rank() + static_cast<int>(given.values.size());
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(given.values, rank));
  std::vector<int64_t> extents;
  for (int axis = 0, next = 0; axis < rank; ++axis) {
    const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
    extents.push_back(named ? 1 : input[next++]);
  }
  return std::vector<TensorType>{{call.input(0).dtype, Shape(std::move(extents))}};
}

absl::StatusOr<std::vector<TensorType>> FlattenTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const Shape& input = call.input(0).shape;
  const int rank = input.rank();
  int64_t axis = call.node->attributes.Int("axis", 1);
  if (axis < -rank || axis > rank) {
    return InvalidArgument("axis {} is outside [{}, {}]", axis, -rank, rank);
  }
  if (axis < 0) axis += rank;
  const int split = static_cast<int>(axis);
  return std::vector<TensorType>{
      {call.input(0).dtype, Shape{input.Product(0, split), input.Product(split, rank)}}};
}

absl::Status ExpandToReshape(const OpCall& call, GraphRewriter& rewrite) {
  ApplyReshape(rewrite, call.node->inputs[0], call.output().shape, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& SqueezeOp() {
  static const OpDef def{
      .kind = OpKind::kSqueeze, .infer_types = SqueezeTypes, .expand = ExpandToReshape};
  return def;
}

const OpDef& UnsqueezeOp() {
  static const OpDef def{
      .kind = OpKind::kUnsqueeze, .infer_types = UnsqueezeTypes, .expand = ExpandToReshape};
  return def;
}

const OpDef& FlattenOp() {
  static const OpDef def{
      .kind = OpKind::kFlatten, .infer_types = FlattenTypes, .expand = ExpandToReshape};
  return def;
}

}  // namespace berth
