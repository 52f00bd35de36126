#include "kernels/tile_pieces.h"

namespace berth {
namespace {

Command VectorCommand(Opcode opcode, uint8_t function, float alpha = 0, float beta = 0) {
  Command command;
  command.opcode = opcode;
  command.params.vector = {};
  command.params.vector.function = function;
  command.params.vector.alpha = alpha;
  command.params.vector.beta = beta;
  return command;
}

bool IsSameView(const TileView& a, const TileView& b) {
  return a.space == b.space && a.buffer == b.buffer && a.offset_bytes == b.offset_bytes &&
         a.stride_bytes == b.stride_bytes;
}

bool IsArg(ReduceFunction function) {
  return function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
}

// The one axis along which `out` repeats to the end, the others before it.
void MoveReducedAxisLast(TileView& out, TileView& in) {
  Extents order;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (out.stride_bytes[i] != 0 || out.extent[i] == 1) order.push_back(axis);
  }
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (out.stride_bytes[i] == 0 && out.extent[i] != 1) order.push_back(axis);
  }
  out = out.Permuted(order);
  in = in.Permuted(order);
}

}  // namespace

void TileBuilder::Unary(UnaryFunction function, const TileView& out, const TileView& in,
                        float alpha, float beta) {
  if (function == UnaryFunction::kIdentity) return Copy(out, in);
  ForEachPiece({out, in}, [&](const Pieces& pieces) {
    Command command = VectorCommand(Opcode::kUnary, static_cast<uint8_t>(function), alpha, beta);
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::Binary(BinaryFunction function, const TileView& out, const TileView& a,
                         const TileView& b) {
  ForEachPiece({out, a, b}, [&](const Pieces& pieces) {
    Command command = VectorCommand(Opcode::kBinary, static_cast<uint8_t>(function));
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    command.in1 = Operand4(pieces[2], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::Select(const TileView& out, const TileView& condition, const TileView& a,
                         const TileView& b) {
  ForEachPiece({out, condition, a, b}, [&](const Pieces& pieces) {
    Command command = VectorCommand(Opcode::kSelect, 0);
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    command.in1 = Operand4(pieces[2], kAllLoops);
    command.in2 = Operand4(pieces[3], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::Move(Opcode opcode, const TileView& out, const TileView& in) {
  ForEachPiece({out, in}, [&](const Pieces& pieces) {
    Command command = VectorCommand(opcode, 0);
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::Copy(const TileView& out, const TileView& in) {
  if (!IsSameView(out, in)) Move(Opcode::kCopy, out, in);
}

void TileBuilder::Cast(const TileView& out, const TileView& in) {
  Move(Opcode::kCast, out, in);
}

void TileBuilder::Reduce(ReduceFunction function, const TileView& out, const TileView& in,
                         bool accumulate, float finish_scale) {
  Command command = VectorCommand(Opcode::kReduce, static_cast<uint8_t>(function), finish_scale);
  TileView target = out.BroadcastTo(in.extent), source = in;
  if (IsArg(function)) MoveReducedAxisLast(target, source);
  ReducePieces(command, {target, source}, accumulate, finish_scale);
}

// As ForEachPiece, but the pieces along a reduced axis continue from one another.
void TileBuilder::ReducePieces(Command command, Pieces views, bool accumulate,
                               float finish_scale) {
  if (!status_.ok() || views[0].ElementCount() == 0) return;
  CollapseViews(absl::MakeSpan(views));
  const int axis = AxisToSplit(views, kCommandLoops);
  if (axis < 0) {
    PadToCommand(absl::MakeSpan(views));
    SetExtents(command, views[0]);
    command.out = Operand4(views[0], kAllLoops);
    command.in0 = Operand4(views[1], kAllLoops);
    if (accumulate) command.flags |= kFlagAccumulate;
    if (finish_scale != 1.0f) command.flags |= kFlagFinish;
    return Emit(command);
  }
  const bool is_reduced = views[0].stride_bytes[static_cast<size_t>(axis)] == 0;
  const int64_t extent = views[0].extent[static_cast<size_t>(axis)];
  for (int64_t index = 0; index < extent; ++index) {
    const bool is_last = !is_reduced || index + 1 == extent;
    ReducePieces(command, {SliceAt(views[0], axis, index), SliceAt(views[1], axis, index)},
                 accumulate || (is_reduced && index > 0), is_last ? finish_scale : 1.0f);
  }
}

}  // namespace berth
