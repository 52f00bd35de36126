// Concat along one axis (opset 1: axis 1 unless given).
//
// Lowering, where the planner cannot make the inputs parts of the output in place: pieces go from
// DRAM through scratchpad to their part of the output. Where a piece would be stored in runs too
// short for DRAM, whole rows of the output are assembled in scratchpad instead.
#include <algorithm>

#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/move_box.h"
#include "kernels/ops/ops.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

absl::StatusOr<int> ConcatAxis(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  if (call.node->opset >= 4 && !attributes.Has("axis")) {
    return InvalidArgument("attribute axis is missing");
  }
  return NormalizeAxis(attributes.Int("axis", 1), call.input(0).shape.rank());
}

absl::StatusOr<std::vector<TensorType>> ConcatTypes(const OpCall& call) {
  if (call.inputs.empty()) return InvalidArgument("no inputs");
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const int axis, ConcatAxis(call));
  TensorType result = call.input(0);
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kAny));
    const TensorType& input = call.input(i);
    TensorType expected = result;
    if (input.shape.rank() == result.shape.rank()) expected.shape[axis] = input.shape[axis];
    if (input != expected) {
      return InvalidArgument("input {} is {}, input 0 is {}: they do not join along axis {}", i,
                             input.ToString(), call.input(0).ToString(), axis);
    }
    const auto extent = CheckedAdd(result.shape[axis], input.shape[axis]);
    if (!extent) return InvalidArgument("axis {} overflows", axis);
    result.shape[axis] = *extent;
  }
  BERTH_ASSIGN_OR_RETURN(result.shape, Shape::Create(result.shape.extents()));
  return std::vector<TensorType>{std::move(result)};
}

constexpr int64_t kShortRunBytes = 64;
constexpr int64_t kMostRowBytes = 4096;  // of an assembled row

int AxisOf(const OpCall& call) { return *ConcatAxis(call); }

// Bytes of one step along the axis.
int64_t PitchBytes(const OpCall& call, int axis) {
  const Shape& output = call.output().shape;
  return output.Product(axis + 1, output.rank()) * DTypeBytes(call.input(0).dtype);
}

bool IsAssembled(const OpCall& call) {
  const int axis = AxisOf(call);
  const int64_t pitch_bytes = PitchBytes(call, axis);
  int64_t shortest = call.output().shape[axis];
  for (const TensorType& input : call.inputs) {
    if (input.shape[axis] > 0) shortest = std::min(shortest, input.shape[axis]);
  }
  return shortest * pitch_bytes < kShortRunBytes &&
         call.output().shape[axis] * pitch_bytes <= kMostRowBytes;
}

IterationSpace ConcatSpace(const OpCall& call) {
  IterationSpace space = AxisLoops(call.output().shape);
  if (!IsAssembled(call)) return space;
  for (size_t axis = static_cast<size_t>(AxisOf(call)); axis < space.size(); ++axis) {
    space[axis].shrink_order = -1;
  }
  return space;
}

TileCost ConcatCost(const OpCall& call, const TileShape& tile) {
  Extents extent(tile.begin(), tile.end());
  TileCost cost;
  cost.scratchpad_bytes = TileBytes(call.output().dtype, extent) + TailBytes(call, extent);
  if (!IsAssembled(call)) return cost;
  const int axis = AxisOf(call);
  for (const TensorType& input : call.inputs) {
    extent[static_cast<size_t>(axis)] = input.shape[axis];
    cost.scratchpad_bytes += TileBytes(input.dtype, extent);
  }
  return cost;
}

void MovePieces(const OpCall& call, size_t axis, const TileShape& tile, TileBuilder& builder) {
  int64_t begin = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    ForEachTile(call.inputs[i].shape.extents(), tile, [&](const Box& from) {
      Box to = from;
      to.begin[axis] += begin;
      MoveBox(call, call.node->inputs[i], from, to, builder);
    });
    begin += call.inputs[i].shape[static_cast<int>(axis)];
  }
}

void AssembleRows(const OpCall& call, size_t axis, const Box& box, TileBuilder& builder) {
  const ValueId result = call.node->outputs[0];
  const TileView tile = builder.OutputTile(result, call.output().dtype, box, "output");
  Box from = box;
  Extents begin(box.begin.size(), 0);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    from.extent[axis] = call.inputs[i].shape[static_cast<int>(axis)];
    if (from.extent[axis] == 0) continue;
    builder.Copy(tile.Sub(begin, from.extent), builder.Load(call.node->inputs[i], from, "input"));
    begin[axis] += from.extent[axis];
  }
  builder.Store(result, box, EmitTail(*call.node, 0, box, tile, builder));
}

absl::Status LowerConcat(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  const auto axis = static_cast<size_t>(AxisOf(call));
  if (!IsAssembled(call)) {
    MovePieces(call, axis, tile, builder);
  } else {
    ForEachTile(call.output().shape.extents(), tile,
                [&](const Box& box) { AssembleRows(call, axis, box, builder); });
  }
  return builder.status();
}

}  // namespace

const OpDef& ConcatOp() {
  static const OpDef def{.kind = OpKind::kConcat,
                         .infer_types = ConcatTypes,
                         .iteration_space = ConcatSpace,
                         .tile_cost = ConcatCost,
                         .lower = LowerConcat,
                         .view = ViewKind::kConcat};
  return def;
}

}  // namespace berth
