// Expand, and Tile, which is an Expand between two reshapes.
#include "base/checked_math.h"
#include "kernels/ops/axis_map.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<TensorType>> ExpandTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> extents, IntOperand(call, 1, "shape"));
  BERTH_ASSIGN_OR_RETURN(const Shape target, Shape::Create(std::move(extents)));
  BERTH_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(call.input(0).shape, target));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// The axis map has input and output of one rank.
bool AddsAxes(const OpCall& call) {
  return call.input(0).shape.rank() != call.output().shape.rank();
}

absl::Status ExpandExpand(const OpCall& call, GraphRewriter& rewrite) {
  const Shape& input = call.input(0).shape;
  const int missing = call.output().shape.rank() - input.rank();
  std::vector<int64_t> extents(static_cast<size_t>(missing), 1);
  extents.insert(extents.end(), input.begin(), input.end());
  const ValueId same_rank = ApplyReshape(rewrite, call.node->inputs[0], Shape(std::move(extents)));
  rewrite.Apply(OpKind::kExpand, {same_rank, rewrite.Int64s(call.output().shape.extents())}, {},
                call.node->outputs[0]);
  return rewrite.status();
}

TileCost ExpandCost(const OpCall& call, const TileShape& tile) {
  const auto map = ExpandMap(call);
  return map.ok() ? AxisMapCost(call, tile, *map) : TileCost{};
}

absl::Status LowerExpand(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const AxisMap map, ExpandMap(call));
  return LowerAxisMap(call, tile, map, builder);
}

// How often each axis is repeated.
absl::StatusOr<std::vector<int64_t>> Repeats(const OpCall& call) {
  const int rank = call.input(0).shape.rank();
  if (call.node->opset >= 6) {
    BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> repeats, IntOperand(call, 1, "repeats"));
    if (static_cast<int>(repeats.size()) != rank) {
      return InvalidArgument("{} repeats for rank {}", repeats.size(), rank);
    }
    return repeats;
  }
  // Opset 1: one count for one axis, in tensors of the input's dtype.
  const auto scalar = [&call](int i, std::string_view name) -> absl::StatusOr<int64_t> {
    if (!call.HasInput(i)) return InvalidArgument("input {} ({}) is missing", i, name);
    if (call.Constant(i) == nullptr) {
      return FailedPrecondition("input {} ({}) is not known at compile time", i, name);
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<float> values,
                           ToFloatValues(call.Constant(i)->view()));
    if (values.size() != 1) return InvalidArgument("{} has {} elements", name, values.size());
    return static_cast<int64_t>(values[0]);
  };
  BERTH_ASSIGN_OR_RETURN(const int64_t count, scalar(1, "tiles"));
  BERTH_ASSIGN_OR_RETURN(const int64_t given_axis, scalar(2, "axis"));
  BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given_axis, rank));
  std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
  repeats[static_cast<size_t>(axis)] = count;
  return repeats;
}

absl::StatusOr<std::vector<TensorType>> TileTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Repeats(call));
  std::vector<int64_t> extents = call.input(0).shape.extents();
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const auto extent = CheckedMul(extents[axis], repeats[axis]);
    if (repeats[axis] < 0 || !extent) {
      return InvalidArgument("axis {} of extent {} repeated {} times", axis, extents[axis],
                             repeats[axis]);
    }
    extents[axis] = *extent;
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// Repeats at most three axes in one Expand, whose rank is then at most seven: for each repeated
// axis one loop over the copies and one over the axis with the unrepeated ones behind it.
absl::Status ExpandTile(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Repeats(call));
  const int rank = call.input(0).shape.rank();
  ValueId value = call.node->inputs[0];
  Shape shape = call.input(0).shape;
  int axis = 0;
  while (axis < rank) {
    std::vector<int64_t> before{1}, after{1};
    int next = 0;
    for (int repeated = 0; next < rank; ++next) {
      const bool pending = next >= axis && repeats[static_cast<size_t>(next)] != 1;
      if (pending && repeated == 3) break;
      if (pending) {
        ++repeated;
        before.insert(before.end(), {1, 1});
        after.insert(after.end(), {repeats[static_cast<size_t>(next)], 1});
      }
      before.back() *= shape[next];
      after.back() *= shape[next];
    }
    for (int behind = next; behind < rank; ++behind) {
      before.back() *= shape[behind];
      after.back() *= shape[behind];
    }
    for (; axis < next; ++axis) shape[axis] *= repeats[static_cast<size_t>(axis)];
    const ValueId split = ApplyReshape(rewrite, value, Shape(before));
    const ValueId repeated =
        rewrite.Apply(OpKind::kExpand, {split, rewrite.Int64s(Shape(after).extents())});
    value = ApplyReshape(rewrite, repeated, shape,
                         axis == rank ? call.node->outputs[0] : ValueId::kNone);
  }
  if (rank == 0) rewrite.Alias(value, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

absl::StatusOr<AxisMap> ExpandMap(const OpCall& call) {
  AxisMap map;
  const Shape& input = call.input(0).shape;
  const Shape& output = call.output().shape;
  for (int axis = 0; axis < output.rank(); ++axis) {
    map.axes.push_back({{0, output[axis], 0, input[axis] == output[axis] ? 1 : 0}});
  }
  return map;
}

const OpDef& ExpandOp() {
  static const OpDef def{.kind = OpKind::kExpand,
                         .infer_types = ExpandTypes,
                         .expand = ExpandExpand,
                         .iteration_space = AxisMapSpace,
                         .tile_cost = ExpandCost,
                         .lower = LowerExpand,
                         .expands = AddsAxes};
  return def;
}

const OpDef& TileOp() {
  static const OpDef def{.kind = OpKind::kTile, .infer_types = TileTypes, .expand = ExpandTile};
  return def;
}

}  // namespace berth
