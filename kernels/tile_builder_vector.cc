#include <algorithm>

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
                         const TileView& b, float alpha) {
  ForEachPiece({out, a, b}, [&](const Pieces& pieces) {
    Command command = VectorCommand(Opcode::kBinary, static_cast<uint8_t>(function), alpha);
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

void TileBuilder::Cast(const TileView& out, const TileView& in) { Move(Opcode::kCast, out, in); }

void TileBuilder::Rescale(Opcode opcode, const TileView& out, const TileView& in, float scale,
                          int32_t zero_point) {
  ForEachPiece({out, in}, [&](const Pieces& pieces) {
    Command command = VectorCommand(opcode, 0, scale);
    command.params.vector.zero_point = zero_point;
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::RescaleBy(Opcode opcode, const TileView& out, const TileView& in,
                            const TileView& scales, int32_t zero_point) {
  ForEachPiece({out, in, scales}, [&](const Pieces& pieces) {
    Command command = VectorCommand(opcode, 0);
    command.params.vector.zero_point = zero_point;
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    command.in1 = Operand4(pieces[2], kAllLoops);
    Emit(command);
  });
}

void TileBuilder::Reduce(ReduceFunction function, const TileView& out, const TileView& in,
                         bool accumulate, float finish_scale) {
  Command command = VectorCommand(Opcode::kReduce, static_cast<uint8_t>(function), finish_scale);
  ReducePieces(command, {out.BroadcastTo(in.extent), in}, accumulate, finish_scale);
}

// As ForEachPiece, but the pieces along a reduced axis continue from one another.
void TileBuilder::ReducePieces(Command command, Pieces views, bool accumulate, float finish_scale) {
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

// One command for every three loops of the other axes; e3 walks `axis`.
void TileBuilder::AlongAxis(Command command, const TileView& out, const TileView& in, int axis) {
  if (out.ElementCount() == 0 || in.ElementCount() == 0) return;
  const auto at = static_cast<size_t>(axis);
  const auto emit = [&](const Pieces& pieces) {
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.in0 = Operand4(pieces[1], kAllLoops);
    for (size_t loop = 0; loop < 3; ++loop) {
      command.extent[loop] = command.extent[loop + 1];
      command.out.stride_bytes[loop] = command.out.stride_bytes[loop + 1];
      command.in0.stride_bytes[loop] = command.in0.stride_bytes[loop + 1];
    }
    command.extent[3] = static_cast<int32_t>(in.extent[at]);
    const bool repeats = out.extent[at] == 1;  // a reduction
    command.out.stride_bytes[3] = repeats ? 0 : static_cast<int32_t>(out.stride_bytes[at]);
    command.in0.stride_bytes[3] = static_cast<int32_t>(in.stride_bytes[at]);
    Emit(command);
  };
  ForEachPiece({SliceAt(out, axis, 0), SliceAt(in, axis, 0)}, emit, kCommandLoops - 1);
}

void TileBuilder::ArgReduce(ReduceFunction function, const TileView& out, const TileView& in,
                            int axis, bool select_last) {
  Command command = VectorCommand(Opcode::kReduce, static_cast<uint8_t>(function));
  if (select_last) command.flags |= kFlagLastIndex;
  AlongAxis(command, out, in, axis);
}

void TileBuilder::Softmax(const TileView& out, const TileView& in, int axis, bool is_log) {
  AlongAxis(VectorCommand(Opcode::kSoftmax, is_log ? 1 : 0), out, in, axis);
}

void TileBuilder::Pick(const TileView& out, const TileView& in, const TileView& indices, int axis) {
  if (out.ElementCount() == 0) return;
  const auto at = static_cast<size_t>(axis);
  Command command = VectorCommand(Opcode::kInterpolate, 0);
  command.params.vector.window.input_height = static_cast<int32_t>(in.extent[at]);
  command.in1 = Operand4(indices, {-1, 0, -1, -1});
  const auto emit = [&](const Pieces& pieces) {
    const auto outer = static_cast<int32_t>(pieces[0].extent[2]);
    const auto inner = static_cast<int32_t>(pieces[0].extent[3]);
    const int32_t extents[4] = {outer, static_cast<int32_t>(out.extent[at]), inner, 1};
    std::copy(std::begin(extents), std::end(extents), std::begin(command.extent));
    command.out = Operand4(pieces[0], {2, -1, 3, -1});
    command.out.stride_bytes[1] = static_cast<int32_t>(out.stride_bytes[at]);
    command.in0 = Operand4(pieces[1], {2, -1, 3, -1});
    command.in0.stride_bytes[1] = static_cast<int32_t>(in.stride_bytes[at]);
    Emit(command);
  };
  ForEachPiece({SliceAt(out, axis, 0), SliceAt(in, axis, 0)}, emit, 2);
}

}  // namespace berth
