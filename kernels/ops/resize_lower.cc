// The commands of a resize: a tile of the output is made from the box of the input that it reads,
// one pass of weighted gathers for each axis that changes, those that shrink first.
#include "kernels/ops/resize_lower.h"

#include <algorithm>
#include <map>

#include "base/checked_math.h"
#include "kernels/collapse.h"
#include "kernels/ops/image_view.h"
#include "kernels/ops/resize_axis.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"

namespace berth {
namespace {

struct Pass {
  ResizeAxis axis;
  AxisTaps taps;
  IndexRange outputs;  // of the call: all, or its part

  // Samples that outputs [begin, begin + count) read.
  IndexRange Samples(IndexRange outputs) const {
    const auto first = taps.indices.begin() + outputs.begin * taps.taps;
    const auto [low, high] = std::minmax_element(first, first + outputs.count * taps.taps);
    return {*low, *high - *low + 1};
  }
  // Most samples that a tile of `count` outputs reads.
  int64_t MostSamples(int64_t count) const {
    int64_t most = 0;
    ForEachTile(outputs.count, count, [&](IndexRange range) {
      range.begin += outputs.begin;
      most = std::max(most, Samples(range).count);
    });
    return most;
  }
};

std::vector<Pass> PassesOf(const OpCall& call) {
  const ResizePlan plan = *ResolveResize(call);
  std::vector<Pass> passes;
  for (const ResizeAxis& axis : plan.axes) {
    const IndexRange all{0, axis.output};
    passes.push_back(
        {axis, MakeAxisTaps(plan, axis), axis.axis == call.part.axis ? call.part.range : all});
  }
  std::stable_sort(passes.begin(), passes.end(), [](const Pass& a, const Pass& b) {
    return a.axis.output * b.axis.input < b.axis.output * a.axis.input;
  });
  return passes;
}

class ResizeEmitter {
 public:
  ResizeEmitter(const OpCall& call, TileBuilder& builder)
      : call_(call),
        node_(*call.node),
        passes_(PassesOf(call)),
        builder_(builder),
        dtype_(call.output().dtype) {}

  absl::Status Run(const TileShape& tile) {
    Box box = WholeBox(call_.output().shape);
    ForEachBox(tile, 0, box);
    return builder_.status();
  }

 private:
  void ForEachBox(const TileShape& tile, size_t axis, Box& box) {
    if (axis == tile.size()) return EmitTile(InWhole(box, call_.part));
    ForEachTile(call_.output().shape[static_cast<int>(axis)], tile[axis], [&](IndexRange range) {
      box.begin[axis] = range.begin;
      box.extent[axis] = range.count;
      ForEachBox(tile, axis + 1, box);
    });
  }

  void EmitTile(const Box& box) {
    if (!builder_.status().ok()) return;
    Box input = box;
    for (const Pass& pass : passes_) {
      const auto axis = static_cast<size_t>(pass.axis.axis);
      const IndexRange samples = pass.Samples({box.begin[axis], box.extent[axis]});
      input.begin[axis] = samples.begin;
      input.extent[axis] = samples.count;
    }
    TileView tile = builder_.Load(node_.inputs[0], input, "input");
    const TileView result = builder_.OutputTile(node_.outputs[0], dtype_, box, "output");
    if (passes_.empty()) builder_.Copy(result, tile);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const auto axis = static_cast<size_t>(passes_[i].axis.axis);
      Extents extent = tile.extent;
      extent[axis] = box.extent[axis];
      const bool is_last = i + 1 == passes_.size();
      const TileView next = is_last ? result : builder_.NewTile(dtype_, extent, "pass");
      EmitPass(passes_[i], {box.begin[axis], box.extent[axis]}, input.begin[axis], next, tile);
      tile = next;
    }
    builder_.Store(node_.outputs[0], box, EmitTail(node_, 0, box, result, builder_));
  }

  void EmitPass(const Pass& pass, IndexRange outputs, int64_t first_sample, const TileView& out,
                const TileView& in) {
    const auto [indices, weights] = LoadTaps(pass, outputs, first_sample);
    const auto axis = static_cast<size_t>(pass.axis.axis);
    Command command;
    command.opcode = Opcode::kInterpolate;
    command.params.vector = {};
    command.params.vector.window.input_height = static_cast<int32_t>(in.extent[axis]);
    command.extent[1] = static_cast<int32_t>(outputs.count);
    command.extent[3] = static_cast<int32_t>(pass.taps.taps);
    command.in1 = TileBuilder::Operand4(indices, {-1, 0, -1, 1});
    if (weights.rank() > 0) command.in2 = TileBuilder::Operand4(weights, {-1, 0, -1, 1});
    absl::InlinedVector<TileView, 2> rest = {out, in};  // without the axis that changes
    for (TileView& view : rest) {
      view.extent = out.extent;
      view.extent[axis] = 1;
    }
    CollapseViews(absl::MakeSpan(rest));
    while (rest[0].rank() < 2) {
      for (TileView& view : rest) view = WithMissingAxes(view, 0, 1);
    }
    EmitPieces(rest, out.stride_bytes[axis], in.stride_bytes[axis], command);
  }

  // A command has one loop outside and one inside of the axis; more loops take more commands.
  void EmitPieces(const absl::InlinedVector<TileView, 2>& rest, int64_t out_stride,
                  int64_t in_stride, Command& command) {
    if (rest[0].rank() > 2) {
      for (int64_t i = 0; i < rest[0].extent[0]; ++i) {
        EmitPieces({SliceAt(rest[0], 0, i), SliceAt(rest[1], 0, i)}, out_stride, in_stride,
                   command);
      }
      return;
    }
    command.extent[0] = static_cast<int32_t>(rest[0].extent[0]);
    command.extent[2] = static_cast<int32_t>(rest[0].extent[1]);
    command.out = TileBuilder::Operand4(rest[0], {0, -1, 1, -1});
    command.in0 = TileBuilder::Operand4(rest[1], {0, -1, 1, -1});
    command.out.stride_bytes[1] = static_cast<int32_t>(out_stride);
    command.in0.stride_bytes[1] = static_cast<int32_t>(in_stride);
    builder_.Emit(command);
  }

  struct TapTables {
    TileView indices, weights;  // weights of rank 0: one tap of weight 1
  };
  struct HeldTaps {
    std::vector<int32_t> indices;
    std::vector<float> weights;
    TapTables tables;
  };

  // The tables of these outputs, with indices counted from the tile's first sample. Neighbouring
  // tiles mostly need the same.
  TapTables LoadTaps(const Pass& pass, IndexRange outputs, int64_t first_sample) {
    const int64_t taps = pass.taps.taps;
    HeldTaps needed;
    for (int64_t i = outputs.begin * taps; i < outputs.end() * taps; ++i) {
      const auto tap = static_cast<size_t>(i);
      needed.indices.push_back(static_cast<int32_t>(pass.taps.indices[tap] - first_sample));
      needed.weights.push_back(pass.taps.weights[tap]);
    }
    HeldTaps& held = held_[pass.axis.axis];
    if (held.indices == needed.indices && held.weights == needed.weights) return held.tables;
    const Shape shape{outputs.count, taps};
    needed.tables.indices = builder_.LoadTable(
        Tensor::FromValues<int32_t>(DType::kInt32, shape, needed.indices), "indices");
    if (taps > 1) {
      needed.tables.weights = builder_.LoadTable(
          Tensor::FromValues<float>(DType::kFloat32, shape, needed.weights), "weights");
    }
    held = std::move(needed);
    return held.tables;
  }

  const OpCall& call_;
  const Node& node_;
  const std::vector<Pass> passes_;
  TileBuilder& builder_;
  const DType dtype_;
  std::map<int, HeldTaps> held_;  // by axis
};

}  // namespace

std::optional<PartRead> ResizePart(const OpCall& call, int input, int axis, IndexRange outputs) {
  if (input > 0) return WholeRead(call.input(input).shape, axis);  // scales, sizes
  for (const Pass& pass : PassesOf(call)) {
    if (pass.axis.axis == axis) return PartRead{axis, pass.Samples(outputs)};
  }
  return PartRead{axis, outputs};
}

IterationSpace ResizeSpace(const OpCall& call) {
  constexpr const char* kNames[] = {"axis 0", "axis 1", "axis 2", "axis 3",
                                    "axis 4", "axis 5", "axis 6", "axis 7"};
  const Shape& shape = call.output().shape;
  IterationSpace space;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_row = axis == shape.rank() - 1 && call.node->layout == DataLayout::kNhwc;
    const int64_t granule = is_row && shape[axis] >= 16 ? 16 : 1;
    space.push_back({kNames[std::min(axis, 7)], shape[axis], granule, axis});
  }
  return space;
}

TileCost ResizeCost(const OpCall& call, const TileShape& tile) {
  const int64_t element_bytes = DTypeBytes(call.output().dtype);
  const std::vector<Pass> passes = PassesOf(call);
  TileShape extent = tile;
  for (const Pass& pass : passes) {
    const auto axis = static_cast<size_t>(pass.axis.axis);
    extent[axis] = pass.MostSamples(tile[axis]);
  }
  const auto bytes = [&] {
    int64_t elements = 1;
    for (int64_t e : extent) elements *= e;
    return AlignUp(elements * element_bytes, 64);
  };
  TileCost cost;
  cost.scratchpad_bytes = TailBytes(call, Extents(tile.begin(), tile.end()));
  if (!call.IsOnChip(0)) cost.scratchpad_bytes += bytes();
  for (const Pass& pass : passes) {
    const auto axis = static_cast<size_t>(pass.axis.axis);
    extent[axis] = tile[axis];
    const int64_t table = AlignUp(tile[axis] * pass.taps.taps * 4, 64);
    cost.scratchpad_bytes += bytes() + (pass.taps.taps > 1 ? 2 : 1) * table;
  }
  if (passes.empty()) cost.scratchpad_bytes += bytes();
  if (call.output_on_chip) cost.scratchpad_bytes -= bytes();
  return cost;
}

absl::Status LowerResize(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  return ResizeEmitter(call, builder).Run(tile);
}

}  // namespace berth
