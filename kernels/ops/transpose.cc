// Transpose by any permutation of any rank.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

// Axis i of the output is axis perm[i] of the input.
absl::StatusOr<std::vector<int>> Permutation(const OpCall& call) {
  const int rank = call.input(0).shape.rank();
  std::vector<int64_t> perm = call.node->attributes.Ints("perm");
  if (!call.node->attributes.Has("perm")) {
    for (int axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  if (static_cast<int>(perm.size()) != rank) {
    return InvalidArgument("perm has {} axes, the input has shape {}", perm.size(),
                           call.input(0).shape.ToString());
  }
  for (const int64_t axis : perm) {
    if (axis < 0) return InvalidArgument("perm names axis {}", axis);
  }
  auto axes = NormalizeAxes(perm, rank);
  if (!axes.ok()) return Annotate(axes.status(), "perm");
  return axes;
}

absl::StatusOr<std::vector<TensorType>> TransposeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(call));
  std::vector<int64_t> extents;
  for (const int axis : perm) extents.push_back(call.input(0).shape[axis]);
  return std::vector<TensorType>{{call.input(0).dtype, Shape(std::move(extents))}};
}

// Nothing moves where only axes of extent 1 change their order.
bool IsReshape(const OpCall& call) {
  const auto perm = Permutation(call);
  if (!perm.ok()) return false;
  int last = -1;
  for (const int axis : *perm) {
    if (call.input(0).shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

absl::Status ExpandTranspose(const OpCall& call, GraphRewriter& rewrite) {
  ApplyReshape(rewrite, call.node->inputs[0], call.output().shape, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& TransposeOp() {
  static const OpDef def{.kind = OpKind::kTranspose,
                         .infer_types = TransposeTypes,
                         .expand = ExpandTranspose,
                         .expands = IsReshape};
  return def;
}

}  // namespace berth
