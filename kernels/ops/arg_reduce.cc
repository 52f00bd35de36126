// ArgMax and ArgMin along one axis. An axis longer than a tile is walked with the best value so far
// and its position.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_views.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

struct ArgParameters {
  int axis = 0;
  ReducedAxes axes;
};

absl::StatusOr<ArgParameters> Resolve(const OpCall& call) {
  ArgParameters parameters;
  BERTH_ASSIGN_OR_RETURN(parameters.axis, ResolveAxis(call, 0));
  parameters.axes = OneReducedAxis(parameters.axis, call.input(0).shape.rank(),
                                   call.node->attributes.Int("keepdims", 1) != 0);
  return parameters;
}

absl::StatusOr<std::vector<TensorType>> ArgTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kNumeric));
  const Shape& shape = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const ArgParameters parameters, Resolve(call));
  if (shape[parameters.axis] == 0) {
    return InvalidArgument("axis {} of shape {} has no element", parameters.axis, shape.ToString());
  }
  return std::vector<TensorType>{{DType::kInt64, parameters.axes.OutputShape(shape)}};
}

class ArgLowering {
 public:
  ArgLowering(const OpCall& call, const ArgParameters& parameters, int64_t chunk_extent,
              TileBuilder& builder)
      : call_(call),
        parameters_(parameters),
        chunk_extent_(chunk_extent),
        builder_(builder),
        is_max_(call.node->kind == OpKind::kArgMax),
        select_last_(call.node->attributes.Int("select_last_index", 0) != 0) {}

  void EmitOutputTile(const Box& kept) {
    const ReducedAxes& axes = parameters_.axes;
    const ValueId result = call_.node->outputs[0];
    const Box box = ReducedBox(axes, kept);
    const TileView out = builder_.OutputTile(result, DType::kInt64, box, "output");
    Search(kept, WithReducedAxes(axes, out));
    builder_.Store(result, box, EmitTail(*call_.node, 0, box, out, builder_));
  }

 private:
  DType dtype() const { return call_.input(0).dtype; }
  ReduceFunction ValueFunction() const {
    return is_max_ ? ReduceFunction::kMax : ReduceFunction::kMin;
  }
  void Positions(const TileView& out, const TileView& in) {
    builder_.ArgReduce(is_max_ ? ReduceFunction::kArgMax : ReduceFunction::kArgMin, out, in,
                       parameters_.axis, select_last_);
  }

  void Search(const Box& kept, const TileView& positions) {
    const auto axis = static_cast<size_t>(parameters_.axis);
    const int64_t extent = call_.input(0).shape[parameters_.axis];
    TileView best;
    for (int64_t begin = 0; begin < extent; begin += chunk_extent_) {
      Box chunk = kept;
      chunk.begin[axis] = begin;
      chunk.extent[axis] = std::min(chunk_extent_, extent - begin);
      const TileView in = builder_.Load(call_.node->inputs[0], chunk, "input");
      if (begin == 0) {
        Positions(positions, in);
        if (chunk_extent_ >= extent) return;
        best = builder_.NewTile(dtype(), positions.extent, "best");
        builder_.Reduce(ValueFunction(), best, in);
      } else {
        Improve(in, begin, best, positions);
      }
    }
  }

  void Improve(const TileView& in, int64_t begin, const TileView& best, const TileView& positions) {
    const TileView value = builder_.NewTile(dtype(), positions.extent, "value");
    builder_.Reduce(ValueFunction(), value, in);
    const TileView position = builder_.NewTile(DType::kInt64, positions.extent, "position");
    Positions(position, in);
    const TileView offset = builder_.NewTile(DType::kInt64, Extents{1}, "offset");
    builder_.Fill(offset, static_cast<uint64_t>(begin));
    builder_.Binary(BinaryFunction::kAdd, position, position, offset.BroadcastTo(position.extent));
    const TileView better = builder_.NewTile(DType::kBool, positions.extent, "better");
    builder_.Binary(Comparison(), better, value, best);
    builder_.Select(positions, better, position, positions);
    builder_.Select(best, better, value, best);
  }

  BinaryFunction Comparison() const {
    if (is_max_) return select_last_ ? BinaryFunction::kGreaterOrEqual : BinaryFunction::kGreater;
    return select_last_ ? BinaryFunction::kLessOrEqual : BinaryFunction::kLess;
  }

  const OpCall& call_;
  const ArgParameters& parameters_;
  const int64_t chunk_extent_;
  TileBuilder& builder_;
  const bool is_max_, select_last_;
};

absl::Status LowerArg(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const ArgParameters parameters, Resolve(call));
  ArgLowering lowering(call, parameters, tile[static_cast<size_t>(parameters.axis)], builder);
  ForEachTile(KeptExtents(parameters.axes, call.input(0).shape.extents()),
              KeptExtents(parameters.axes, tile),
              [&](const Box& kept) { lowering.EmitOutputTile(kept); });
  return builder.status();
}

IterationSpace ArgSpace(const OpCall& call) {
  IterationSpace space = AxisLoops(call.input(0).shape);
  const auto parameters = Resolve(call);
  // Cutting the axis costs passes over the results.
  if (parameters.ok()) {
    space[static_cast<size_t>(parameters->axis)].shrink_order = call.input(0).shape.rank();
  }
  return space;
}

TileCost ArgCost(const OpCall& call, const TileShape& tile) {
  const auto parameters = Resolve(call);
  if (!parameters.ok()) return {};
  const Extents in(tile.begin(), tile.end());
  const Box box = ReducedBox(parameters->axes, {Extents(in.size(), 0), in});
  const DType dtype = call.input(0).dtype;
  TileCost cost;
  cost.scratchpad_bytes =
      TileBytes(dtype, in) + TileBytes(DType::kInt64, box.extent) + TailBytes(call, box.extent);
  if (tile[static_cast<size_t>(parameters->axis)] < call.input(0).shape[parameters->axis]) {
    cost.scratchpad_bytes += 2 * TileBytes(dtype, box.extent) +
                             TileBytes(DType::kInt64, box.extent) +
                             TileBytes(DType::kBool, box.extent) + TileBytes(DType::kInt64, {1});
  }
  return cost;
}

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = ArgTypes;
  def.iteration_space = ArgSpace;
  def.tile_cost = ArgCost;
  def.lower = LowerArg;
  return def;
}

}  // namespace

const OpDef& ArgMaxOp() {
  static const OpDef def = Define(OpKind::kArgMax);
  return def;
}

const OpDef& ArgMinOp() {
  static const OpDef def = Define(OpKind::kArgMin);
  return def;
}

}  // namespace berth
