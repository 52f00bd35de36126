// Softmax and LogSoftmax. Before opset 13 the axes from `axis` on count as one.
//
// Rows that fit a tile are one command. Longer rows, and float64, which the unit's softmax does not
// take, make three passes over their chunks: maximum, sum of exp(x - maximum), result.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_views.h"
#include "kernels/rewrite.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

bool IsFlattened(const OpCall& call) { return call.node->opset > 0 && call.node->opset < 13; }

absl::StatusOr<int> SoftmaxAxis(const OpCall& call) {
  return ResolveAxis(call, IsFlattened(call) ? 1 : -1);
}

absl::StatusOr<std::vector<TensorType>> SoftmaxTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (const auto axis = SoftmaxAxis(call); !axis.ok()) return axis.status();
  return std::vector<TensorType>{call.input(0)};
}

bool Expands(const OpCall& call) {
  const auto axis = SoftmaxAxis(call);
  return IsFlattened(call) && axis.ok() && *axis != call.input(0).shape.rank() - 1;
}

absl::Status Expand(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const int axis, SoftmaxAxis(call));
  const Shape& shape = call.input(0).shape;
  const ValueId flat =
      rewrite.Apply(OpKind::kReshape,
                    {call.node->inputs[0],
                     rewrite.Int64s({shape.Product(0, axis), shape.Product(axis, shape.rank())})});
  const ValueId result = rewrite.Apply(call.node->kind, {flat});
  rewrite.Apply(OpKind::kReshape, {result, rewrite.Int64s(shape.extents())}, {},
                call.node->outputs[0]);
  return rewrite.status();
}

// Long rows of 16-bit floats are summed in float32.
DType WorkType(DType dtype) { return IsHalf(dtype) ? DType::kFloat32 : dtype; }

bool IsOneCommand(const OpCall& call, int axis, int64_t chunk_extent) {
  return chunk_extent >= call.input(0).shape[axis] && call.input(0).dtype != DType::kFloat64;
}

class SoftmaxLowering {
 public:
  SoftmaxLowering(const OpCall& call, int axis, int64_t chunk_extent, TileBuilder& builder)
      : call_(call),
        axis_(axis),
        chunk_extent_(chunk_extent),
        builder_(builder),
        input_(call.node->inputs[0]),
        output_(call.node->outputs[0]),
        is_log_(call.node->kind == OpKind::kLogSoftmax) {}

  void EmitWholeRows(const Box& box) {
    const TileView in = builder_.Load(input_, box, "input");
    const TileView out = builder_.OutputTile(output_, dtype(), box, "output");
    builder_.Softmax(out, in, axis_, is_log_);
    builder_.Store(output_, box, EmitTail(*call_.node, 0, box, out, builder_));
  }

  // `rows` has extent 1 along the axis.
  void EmitLongRows(const Box& rows) {
    const TileView maximum = builder_.NewTile(WorkType(dtype()), rows.extent, "maximum");
    ForEachChunk(rows, [&](const Box& chunk, bool is_first) {
      builder_.Reduce(ReduceFunction::kMax, maximum, LoadWide(chunk), !is_first);
    });
    const TileView sum = builder_.NewTile(WorkType(dtype()), rows.extent, "sum");
    ForEachChunk(rows, [&](const Box& chunk, bool is_first) {
      const TileView shifted = Shifted(chunk, maximum);
      builder_.Unary(UnaryFunction::kExp, shifted, shifted);
      builder_.Reduce(ReduceFunction::kSum, sum, shifted, !is_first);
    });
    if (is_log_) builder_.Unary(UnaryFunction::kLog, sum, sum);
    ForEachChunk(rows, [&](const Box& chunk, bool) { StoreChunk(chunk, maximum, sum); });
  }

 private:
  DType dtype() const { return call_.input(0).dtype; }

  template <typename Visit>
  void ForEachChunk(const Box& rows, Visit&& visit) {
    const int64_t extent = call_.input(0).shape[axis_];
    for (int64_t begin = 0; begin < extent; begin += chunk_extent_) {
      Box chunk = rows;
      chunk.begin[static_cast<size_t>(axis_)] = begin;
      chunk.extent[static_cast<size_t>(axis_)] = std::min(chunk_extent_, extent - begin);
      visit(chunk, begin == 0);
    }
  }

  TileView LoadWide(const Box& chunk) {
    const TileView loaded = builder_.Load(input_, chunk, "input");
    if (WorkType(dtype()) == dtype()) return loaded;
    const TileView wide = builder_.NewTile(WorkType(dtype()), chunk.extent, "wide input");
    builder_.Cast(wide, loaded);
    return wide;
  }

  // x - maximum, in a tile that may be written.
  TileView Shifted(const Box& chunk, const TileView& maximum) {
    const TileView in = LoadWide(chunk);
    const bool is_ours = !builder_.IsResident(input_) || WorkType(dtype()) != dtype();
    const TileView out = is_ours ? in : builder_.NewTile(in.dtype, chunk.extent, "shifted");
    builder_.Binary(BinaryFunction::kSub, out, in, maximum.BroadcastTo(chunk.extent));
    return out;
  }

  void StoreChunk(const Box& chunk, const TileView& maximum, const TileView& sum) {
    TileView value = Shifted(chunk, maximum);
    if (!is_log_) builder_.Unary(UnaryFunction::kExp, value, value);
    builder_.Binary(is_log_ ? BinaryFunction::kSub : BinaryFunction::kDiv, value, value,
                    sum.BroadcastTo(chunk.extent));
    if (value.dtype != dtype()) {
      const TileView narrow = builder_.NewTile(dtype(), chunk.extent, "output");
      builder_.Cast(narrow, value);
      value = narrow;
    }
    builder_.Store(output_, chunk, EmitTail(*call_.node, 0, chunk, value, builder_));
  }

  const OpCall& call_;
  const int axis_;
  const int64_t chunk_extent_;
  TileBuilder& builder_;
  const ValueId input_, output_;
  const bool is_log_;
};

absl::Status LowerSoftmax(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const int axis, SoftmaxAxis(call));
  const Shape& shape = call.input(0).shape;
  const int64_t chunk_extent = tile[static_cast<size_t>(axis)];
  SoftmaxLowering lowering(call, axis, chunk_extent, builder);
  if (IsOneCommand(call, axis, chunk_extent)) {
    ForEachTile(shape.extents(), tile, [&](const Box& box) { lowering.EmitWholeRows(box); });
  } else {
    const ReducedAxes axes = OneReducedAxis(axis, shape.rank(), true);
    ForEachTile(KeptExtents(axes, shape.extents()), KeptExtents(axes, tile),
                [&](const Box& rows) { lowering.EmitLongRows(rows); });
  }
  return builder.status();
}

IterationSpace SoftmaxSpace(const OpCall& call) {
  IterationSpace space = AxisLoops(call.input(0).shape);
  const auto axis = SoftmaxAxis(call);
  // Rows are cut only when a single one does not fit.
  if (axis.ok()) space[static_cast<size_t>(*axis)].shrink_order = call.input(0).shape.rank();
  return space;
}

TileCost SoftmaxCost(const OpCall& call, const TileShape& tile) {
  const auto axis = SoftmaxAxis(call);
  if (!axis.ok()) return {};
  const DType dtype = call.input(0).dtype;
  const Extents extent(tile.begin(), tile.end());
  TileCost cost;
  // Input and output tile; of long rows the working copy of a narrow input besides.
  cost.scratchpad_bytes = 2 * TileBytes(dtype, extent) + TailBytes(call, extent);
  if (!IsOneCommand(call, *axis, tile[static_cast<size_t>(*axis)])) {
    Extents rows = extent;
    rows[static_cast<size_t>(*axis)] = 1;
    cost.scratchpad_bytes += 2 * TileBytes(WorkType(dtype), rows);
    if (IsHalf(dtype)) cost.scratchpad_bytes += TileBytes(WorkType(dtype), extent);
  }
  return cost;
}

std::vector<int> SoftmaxInPlace(const OpCall&) { return {0}; }

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = SoftmaxTypes;
  def.in_place = SoftmaxInPlace;
  def.iteration_space = SoftmaxSpace;
  def.tile_cost = SoftmaxCost;
  def.lower = LowerSoftmax;
  def.expand = Expand;
  def.expands = Expands;
  return def;
}

}  // namespace

const OpDef& SoftmaxOp() {
  static const OpDef def = Define(OpKind::kSoftmax);
  return def;
}

const OpDef& LogSoftmaxOp() {
  static const OpDef def = Define(OpKind::kLogSoftmax);
  return def;
}

}  // namespace berth
