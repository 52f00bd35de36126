// Reshape: attribute "shape" before opset 5, input 1 from then on.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/flat_copy.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

// Resolves 0 (copied from the input, unless allowzero) and one -1.
absl::StatusOr<Shape> ResolveShape(const Shape& input, std::vector<int64_t> extents,
                                   bool allow_zero) {
  int inferred = -1;
  int64_t known = 1;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    int64_t& extent = extents[axis];
    if (extent == 0 && !allow_zero) {
      if (static_cast<int>(axis) >= input.rank()) {
        return InvalidArgument("dimension {} is to be copied from an input of shape {}", axis,
                               input.ToString());
      }
      extent = input[static_cast<int>(axis)];
    }
    if (extent == -1) {
      if (inferred >= 0) return InvalidArgument("dimensions {} and {} are both -1", inferred, axis);
      inferred = static_cast<int>(axis);
      extent = 1;
    }
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  known = shape.ElementCount();
  if (inferred >= 0) {
    if (known == 0 || input.ElementCount() % known != 0) {
      return InvalidArgument("{} elements do not divide by the {} of the other dimensions",
                             input.ElementCount(), known);
    }
    shape[inferred] = input.ElementCount() / known;
  } else if (known != input.ElementCount()) {
    return InvalidArgument("shape {} has {} elements, the target {} has {}", input.ToString(),
                           input.ElementCount(), shape.ToString(), known);
  }
  return shape;
}

absl::StatusOr<std::vector<TensorType>> ReshapeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const OptionalInts target, AttributeOrOperand(call, "shape", 1, 5));
  if (!target.found) return InvalidArgument("the target shape is missing");
  const bool allow_zero = call.node->attributes.Int("allowzero", 0) != 0;
  BERTH_ASSIGN_OR_RETURN(Shape shape, ResolveShape(call.input(0).shape, target.values, allow_zero));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

}  // namespace

const OpDef& ReshapeOp() {
  static const OpDef def = FlatCopyOp(OpKind::kReshape, ReshapeTypes);
  return def;
}

}  // namespace berth
