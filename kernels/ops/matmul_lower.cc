// The commands of a matrix product, tile by tile.
#include <algorithm>

#include "kernels/collapse.h"
#include "kernels/ops/image_view.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/matrix_stage.h"
#include "kernels/ops/quantized_product.h"

namespace berth {
namespace {

struct MatMulTile {
  std::vector<IndexRange> batch;
  IndexRange rows, columns;
};

// A part of a tile that one command computes: `batch` matrices of `rows` rows. The views have the
// axes [batch, rows, columns or inner].
struct MatrixPart {
  TileView a, b, out;
};

class MatMulEmitter {
 public:
  MatMulEmitter(const OpCall& call, const TileShape& tile, TileBuilder& builder)
      : call_(call),
        node_(*call.node),
        product_(*ResolveMatMul(call)),
        loops_(product_),
        tile_(tile),
        stage_(call, builder),
        builder_(builder),
        dtype_(call.output().dtype) {}

  absl::Status Run() {
    MatMulTile tile;
    tile.batch.resize(product_.batch_rank());
    if (!MatMulColumnsOuter(call_, tile_)) {
      ForEachBatch(tile, 0, [&] {
        ForEachRows(tile, [&] { ForEachColumns(tile, [&] { EmitTile(tile); }); });
      });
    } else if (product_.shares_b()) {
      ForEachColumns(tile, [&] {
        ForEachBatch(tile, 0, [&] { ForEachRows(tile, [&] { EmitTile(tile); }); });
      });
    } else {
      ForEachBatch(tile, 0, [&] {
        ForEachColumns(tile, [&] { ForEachRows(tile, [&] { EmitTile(tile); }); });
      });
    }
    return builder_.status();
  }

 private:
  template <typename Body>
  void ForEach(int64_t extent, int64_t step, IndexRange& range, Body&& body) {
    ForEachTile(extent, step, [&](IndexRange part) {
      range = part;
      body();
    });
  }
  template <typename Body>
  void ForEachRows(MatMulTile& tile, Body&& body) {
    ForEach(product_.rows, tile_[loops_.rows], tile.rows, body);
  }
  template <typename Body>
  void ForEachColumns(MatMulTile& tile, Body&& body) {
    ForEach(product_.columns, tile_[loops_.columns], tile.columns, body);
  }
  template <typename Body>
  void ForEachBatch(MatMulTile& tile, size_t axis, Body&& body) {
    if (axis == product_.batch_rank()) return body();
    ForEach(product_.batch[axis], tile_[axis], tile.batch[axis],
            [&] { ForEachBatch(tile, axis + 1, body); });
  }

  // A tile of operand A (rows x inner) or B (inner x columns) with all batch axes, broadcast ones
  // of stride 0.
  TileView LoadOperand(int input, const MatMulTile& tile, IndexRange first, IndexRange second) {
    const bool is_a = input == 0;
    const std::vector<int64_t>& own = is_a ? product_.a_batch : product_.b_batch;
    const int rank = is_a ? product_.a_rank : product_.b_rank;
    const bool swapped = is_a ? product_.trans_a : product_.trans_b;
    const size_t batch_rank = product_.batch_rank();
    Box box;
    const auto push = [&](IndexRange range) {
      box.begin.push_back(range.begin);
      box.extent.push_back(range.count);
    };
    // A vector has only the inner axis; leading axes may be missing.
    const size_t leading = rank < 2 ? 0 : static_cast<size_t>(rank) - 2;
    for (size_t axis = batch_rank - leading; axis < batch_rank; ++axis) {
      push(own[axis] == 1 ? IndexRange{0, 1} : tile.batch[axis]);
    }
    if (rank == 1) {
      push(is_a ? second : first);
    } else {
      push(swapped ? second : first);
      push(swapped ? first : second);
    }
    TileView view = builder_.LoadHeld(node_.inputs[static_cast<size_t>(input)], box,
                                      is_a ? "input" : "weights");
    if (rank == 1) InsertAxis(view, is_a ? 0 : 1);
    if (swapped) {
      const size_t last = view.extent.size() - 1;
      std::swap(view.extent[last], view.extent[last - 1]);
      std::swap(view.stride_bytes[last], view.stride_bytes[last - 1]);
    }
    return WithBatch(std::move(view), tile);
  }

  static void InsertAxis(TileView& view, ptrdiff_t position) {
    view.extent.insert(view.extent.begin() + position, 1);
    view.stride_bytes.insert(view.stride_bytes.begin() + position, 0);
  }

  TileView WithBatch(TileView view, const MatMulTile& tile) const {
    Extents target;
    for (IndexRange range : tile.batch) target.push_back(range.count);
    target.push_back(view.extent[view.extent.size() - 2]);
    target.push_back(view.extent.back());
    return view.BroadcastTo(target);
  }

  Box OutputBox(const MatMulTile& tile) const {
    Box box;
    const auto push = [&](IndexRange range) {
      box.begin.push_back(range.begin);
      box.extent.push_back(range.count);
    };
    for (IndexRange range : tile.batch) push(range);
    if (!product_.a_is_vector()) push(tile.rows);
    if (!product_.b_is_vector()) push(tile.columns);
    return box;
  }

  TileView OutputView(TileView out, const MatMulTile& tile) const {
    if (product_.b_is_vector()) InsertAxis(out, out.rank());
    if (product_.a_is_vector()) InsertAxis(out, out.rank() - 1);
    return WithBatch(std::move(out), tile);
  }

  // The batch axes and the rows as few regular loops: rows are those over which B repeats.
  std::vector<MatrixPart> PartsOf(const TileView& a, const TileView& b, const TileView& out) const {
    const auto without_last = [&](const TileView& view, bool repeats_rows) {
      TileView outer = view;
      outer.extent.pop_back();
      outer.stride_bytes.pop_back();
      if (repeats_rows) {
        outer.extent.back() = a.extent[a.extent.size() - 2];
        outer.stride_bytes.back() = 0;
      }
      return outer;
    };
    // B's axes are [batch, inner, columns]: with the inner axis taken for rows of stride 0.
    absl::InlinedVector<TileView, 3> views = {without_last(a, false), without_last(b, true),
                                              without_last(out, false)};
    CollapseViews(absl::MakeSpan(views));
    const int rank = views[0].rank();
    int rows = rank - 1;
    while (rows >= 0 && views[1].stride_bytes[static_cast<size_t>(rows)] != 0) --rows;
    // Of the others the longest is the command's batch loop.
    int batch = -1;
    for (int axis = 0; axis < rank; ++axis) {
      if (axis == rows) continue;
      if (batch < 0 || views[0].extent[static_cast<size_t>(axis)] >
                           views[0].extent[static_cast<size_t>(batch)]) {
        batch = axis;
      }
    }
    std::vector<MatrixPart> parts;
    Split(views, {batch, rows}, 0, a, b, out, parts);
    return parts;
  }

  struct KeptAxes {
    int batch, rows;
  };

  void Split(const absl::InlinedVector<TileView, 3>& views, KeptAxes kept, int axis,
             const TileView& a, const TileView& b, const TileView& out,
             std::vector<MatrixPart>& parts) const {
    if (axis == views[0].rank()) {
      parts.push_back({Joined(views[0], kept, a, a.rank() - 1),
                       Joined(views[1], kept, b, b.rank() - 2),
                       Joined(views[2], kept, out, out.rank() - 1)});
      // B keeps both its own axes: [batch, columns, inner].
      TileView& part_b = parts.back().b;
      part_b.extent[1] = b.extent.back();
      part_b.stride_bytes[1] = b.stride_bytes.back();
      return;
    }
    const auto i = static_cast<size_t>(axis);
    if (axis == kept.batch || axis == kept.rows) {
      return Split(views, kept, axis + 1, a, b, out, parts);
    }
    for (int64_t index = 0; index < views[0].extent[i]; ++index) {
      absl::InlinedVector<TileView, 3> at = views;
      for (TileView& view : at) view.offset_bytes += index * view.stride_bytes[i];
      Split(at, kept, axis + 1, a, b, out, parts);
    }
  }

  // [batch, rows, last]: the kept loops of `outer` and axis `last` of `whole`.
  static TileView Joined(const TileView& outer, KeptAxes kept, const TileView& whole, int last) {
    TileView view = outer;
    view.extent.clear();
    view.stride_bytes.clear();
    for (int axis : {kept.batch, kept.rows}) {
      const auto i = static_cast<size_t>(axis);
      view.extent.push_back(axis < 0 ? 1 : outer.extent[i]);
      view.stride_bytes.push_back(axis < 0 ? 0 : outer.stride_bytes[i]);
    }
    view.extent.push_back(whole.extent[static_cast<size_t>(last)]);
    view.stride_bytes.push_back(whole.stride_bytes[static_cast<size_t>(last)]);
    return view;
  }

  void EmitTile(const MatMulTile& tile) {
    if (!builder_.status().ok()) return;
    const Box box = OutputBox(tile);
    const TileView result = builder_.OutputTile(node_.outputs[0], dtype_, box, "output");
    const TileView out = OutputView(result, tile);
    if (RunsOnMatrixUnit(call_)) {
      EmitMatrix(tile, out);
      stage_.Finish(box, result);
    } else {
      EmitVector(tile, out);
      stage_.FinishWhole(box, result);
    }
  }

  std::vector<IndexRange> InnerTiles() {
    std::vector<IndexRange> tiles;
    IndexRange range;
    ForEach(product_.inner, tile_[loops_.inner], range, [&] { tiles.push_back(range); });
    if (backwards_) std::reverse(tiles.begin(), tiles.end());
    backwards_ = !backwards_;  // the last operands of a tile are the first of the next
    return tiles;
  }

  // Parts of at most so many rows of the whole batch.
  std::vector<MatrixPart> InBlocks(const std::vector<MatrixPart>& parts, int64_t most_rows) const {
    std::vector<MatrixPart> blocks;
    for (const MatrixPart& part : parts) {
      const int64_t batch = part.out.extent[0], rows = part.out.extent[1];
      ForEachTile(batch, std::clamp<int64_t>(most_rows / rows, 1, batch), [&](IndexRange images) {
        ForEachTile(rows, std::min(rows, most_rows), [&](IndexRange range) {
          blocks.push_back({Part(Part(part.a, 0, images), 1, range), Part(part.b, 0, images),
                            Part(Part(part.out, 0, images), 1, range)});
        });
      });
    }
    return blocks;
  }

  void EmitMatrix(const MatMulTile& tile, const TileView& out) {
    const std::vector<IndexRange> inner = InnerTiles();
    const TileView bias = stage_.LoadBias(tile.columns);
    std::vector<TileView> accumulators;
    for (size_t k = 0; k < inner.size(); ++k) {
      const TileView a = LoadOperand(0, tile, tile.rows, inner[k]);
      const TileView b = LoadOperand(1, tile, inner[k], tile.columns);
      const std::vector<MatrixPart> parts =
          InBlocks(PartsOf(a, b, out), tile_[loops_.command_rows]);
      accumulators.resize(parts.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        if (k == 0) {
          accumulators[i] = builder_.NewAccumulator(AccumulatorDType(call_), parts[i].out.extent);
        }
        EmitPart(parts[i], accumulators[i], bias, k == 0, k + 1 == inner.size());
      }
    }
  }

  void EmitPart(const MatrixPart& part, const TileView& accumulator, const TileView& bias,
                bool is_first, bool is_last) {
    if (accumulator.extent != part.out.extent) {
      return builder_.Fail(Internal("a product's tiles differ in form"));
    }
    Command command;
    command.opcode = Opcode::kGemm;
    command.params.matrix = {};
    stage_.SetZeroPoints(command);
    for (size_t d = 0; d < 3; ++d) command.extent[d] = static_cast<int32_t>(part.out.extent[d]);
    command.extent[3] = static_cast<int32_t>(part.a.extent[2]);
    command.in0 = TileBuilder::Operand4(part.a, {0, 1, -1, 2});
    command.in1 = TileBuilder::Operand4(part.b, {0, -1, 1, 2});
    command.acc = TileBuilder::Operand4(accumulator, {0, 1, 2, -1});
    if (!is_first) command.flags |= kFlagAccumulate;
    if (is_last) stage_.WriteOut(part.out, {0, 1, 2}, bias, command);
    builder_.Emit(command);
  }

  // Row by row: the products over [columns, inner], then their sums.
  void EmitVector(const MatMulTile& tile, const TileView& out) {
    const std::vector<IndexRange> inner = InnerTiles();
    for (size_t k = 0; k < inner.size(); ++k) {
      const TileView a = LoadOperand(0, tile, tile.rows, inner[k]);
      const TileView b = LoadOperand(1, tile, inner[k], tile.columns);
      for (const MatrixPart& part : PartsOf(a, b, out)) {
        for (int64_t batch = 0; batch < part.out.extent[0]; ++batch) {
          const TileView columns = SliceAt(part.b, 0, batch);
          for (int64_t row = 0; row < part.out.extent[1]; ++row) {
            TileView sums = SliceAt(SliceAt(part.out, 0, batch), 0, row);
            const TileView samples = SliceAt(SliceAt(part.a, 0, batch), 0, row);
            const TileView products = builder_.NewTile(dtype_, columns.extent, "products");
            builder_.Binary(BinaryFunction::kMul, products, columns,
                            samples.BroadcastTo(columns.extent));
            InsertAxis(sums, 1);
            builder_.Reduce(ReduceFunction::kSum, sums, products, k > 0);
          }
        }
      }
    }
    if (!call_.HasInput(2)) return;
    const TileView bias =
        builder_.LoadHeld(node_.inputs[2], {{tile.columns.begin}, {tile.columns.count}}, "bias");
    builder_.Binary(BinaryFunction::kAdd, out, out, bias.BroadcastTo(out.extent));
  }

  const OpCall& call_;
  const Node& node_;
  const MatrixProduct product_;
  const MatMulLoops loops_;
  const TileShape tile_;
  MatrixStage stage_;
  TileBuilder& builder_;
  const DType dtype_;
  bool backwards_ = false;
};

// A sum of nothing: zeros and the bias.
absl::Status LowerEmptySum(const OpCall& call, TileBuilder& builder) {
  const ValueId output = call.node->outputs[0];
  const Box box = WholeBox(call.output().shape);
  const TileView out = builder.OutputTile(output, call.output().dtype, box, "output");
  builder.FillFloat(out, 0);
  if (call.HasInput(2)) {
    TileView bias = builder.Load(call.node->inputs[2], WholeBox(call.input(2).shape), "bias");
    if (bias.dtype != out.dtype) {
      const TileView narrow = builder.NewTile(out.dtype, bias.extent, "narrow bias");
      builder.Cast(narrow, bias);
      bias = narrow;
    }
    builder.Binary(BinaryFunction::kAdd, out, out, bias.BroadcastTo(box.extent));
  }
  builder.Store(output, box, EmitTail(*call.node, 0, box, out, builder));
  return builder.status();
}

}  // namespace

absl::Status LowerMatMul(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  if (ResolveMatMul(call)->inner == 0) return LowerEmptySum(call, builder);
  return MatMulEmitter(call, tile, builder).Run();
}

}  // namespace berth
