// The commands of a pool, tile by tile.
//
// A window over depth is one pool per plane, joined by elementwise commands. An average divides by
// a number of samples that the pool unit counts itself (samples inside the input, two axes), or
// that is the same for a whole block of outputs: then the outputs are split into such blocks.
#include "kernels/ops/pool_lower.h"

#include <algorithm>

#include "base/checked_math.h"
#include "kernels/ops/image_view.h"
#include "kernels/ops/rolling_loader.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"

namespace berth {
namespace {

enum PoolLoop : size_t { kBatch, kDepth, kHeight, kWidth, kChannels };

struct PoolPlan {
  AxisWindow axes[3];
  size_t missing = 0;
  int64_t batch = 0, channels = 0;
  bool is_max = false;
  bool counts_pad = false;

  // A tile takes the rows that it shares with the one above it from there.
  bool Rolls(const TileShape& tile) const {
    return RowsRoll(axes[1], tile[kHeight], axes[2], tile[kWidth]);
  }
  // The pool unit counts the samples of an average itself.
  bool unit_counts() const { return !is_max && !counts_pad && axes[0].kernel == 1; }
};

PoolPlan PlanOf(const OpCall& call) {
  AxisWindows axes = *ResolvePoolWindow(call);
  TakePart(call.part, false, axes);
  PoolPlan plan;
  plan.missing = 3 - axes.size();
  for (size_t i = 0; i < axes.size(); ++i) plan.axes[plan.missing + i] = axes[i];
  plan.batch = call.input(0).shape[0];
  plan.channels = call.input(0).shape.back();
  plan.is_max = call.node->kind == OpKind::kMaxPool;
  plan.counts_pad = call.node->attributes.Int("count_include_pad", 0) != 0;
  return plan;
}

// Samples by which an average of output `position` is divided, along one axis.
int64_t DivisorAt(const AxisWindow& axis, bool counts_pad, int64_t position) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const int64_t sample = position * axis.stride - axis.pad_begin + tap * axis.dilation;
    const bool counts =
        counts_pad ? sample < axis.input + axis.pad_end : sample >= 0 && sample < axis.input;
    if (counts) ++count;
  }
  return count;
}

struct Run {
  IndexRange outputs;
  int64_t divisor = 1;
};
// Maximal runs of outputs with one divisor.
std::vector<Run> RunsOf(const AxisWindow& axis, bool counts_pad, IndexRange outputs) {
  std::vector<Run> runs;
  for (int64_t i = outputs.begin; i < outputs.end(); ++i) {
    const int64_t divisor = DivisorAt(axis, counts_pad, i);
    if (runs.empty() || runs.back().divisor != divisor) runs.push_back({{i, 0}, divisor});
    ++runs.back().outputs.count;
  }
  return runs;
}

class PoolEmitter {
 public:
  PoolEmitter(const OpCall& call, const TileShape& tile, TileBuilder& builder)
      : node_(*call.node),
        plan_(PlanOf(call)),
        builder_(builder),
        dtype_(call.output().dtype),
        tile_(tile),
        part_(call.part),
        images_(node_.inputs[0], kH - plan_.missing, plan_.Rolls(tile), builder) {}

  absl::Status Run() {
    ImageRange tile;
    ForEachTile(plan_.batch, tile_[kBatch], [&](IndexRange batch) {
      tile.batch = batch;
      ForEachTile(plan_.axes[0].output, tile_[kDepth], [&](IndexRange depth) {
        tile.space[0] = depth;
        ForEachTile(plan_.channels, tile_[kChannels], [&](IndexRange channels) {
          tile.channels = channels;
          ForEachTile(plan_.axes[2].output, tile_[kWidth], [&](IndexRange width) {
            tile.space[2] = width;
            // Rows innermost: neighbours share some.
            ForEachTile(plan_.axes[1].output, tile_[kHeight], [&](IndexRange height) {
              tile.space[1] = height;
              EmitTile(tile);
            });
          });
        });
      });
    });
    return builder_.status();
  }

 private:
  void EmitTile(const ImageRange& tile) {
    if (!builder_.status().ok()) return;
    ImageRange input = tile;
    for (size_t i = 0; i < 3; ++i) {
      input.space[i] = SamplesOf(plan_.axes[i], false, tile.space[i]);
    }
    const TileView image =
        WithMissingAxes(images_.Load(ImageBox(input, plan_.missing)), kD, plan_.missing);
    const Box box = InWhole(ImageBox(tile, plan_.missing), part_);
    const TileView result = builder_.OutputTile(node_.outputs[0], dtype_, box, "output");
    const TileView output = WithMissingAxes(result, kD, plan_.missing);
    for (int64_t n = 0; n < tile.batch.count; ++n) {
      for (int64_t depth = 0; depth < tile.space[0].count; ++depth) {
        EmitPlane(tile, input, depth, Part(image, kN, {n, 1}),
                  Part(Part(output, kN, {n, 1}), kD, {depth, 1}));
      }
    }
    builder_.Store(node_.outputs[0], box, EmitTail(node_, 0, box, result, builder_));
  }

  // One output plane from all input planes under the window.
  void EmitPlane(const ImageRange& tile, const ImageRange& input, int64_t depth,
                 const TileView& image, const TileView& output) {
    const int64_t position = tile.space[0].begin + depth;
    const AxisPhase planes = PhasesOf(plan_.axes[0], false, {position, 1})[0];
    const int64_t divisor = DivisorAt(plan_.axes[0], plan_.counts_pad, position);
    bool is_first = true;
    for (int64_t tap = 0; tap < planes.taps; ++tap) {
      const int64_t sample = planes.first_sample + tap * planes.dilation;
      if (sample < 0 || sample >= plan_.axes[0].input) continue;
      const TileView plane = Part(image, kD, {sample - input.space[0].begin, 1});
      const TileView target = is_first ? output : builder_.NewTile(dtype_, output.extent, "plane");
      EmitBlocks(tile, input, divisor, plane, target);
      if (!is_first) {
        const auto join = plan_.is_max ? BinaryFunction::kMax : BinaryFunction::kAdd;
        builder_.Binary(join, output, output, target);
      }
      is_first = false;
    }
    if (is_first) builder_.Fail(Unimplemented("a window lies between the samples of its axis"));
  }

  void EmitBlocks(const ImageRange& tile, const ImageRange& input, int64_t depth_divisor,
                  const TileView& plane, const TileView& output) {
    if (plan_.is_max || plan_.unit_counts()) {
      const auto function = plan_.is_max ? PoolFunction::kMax : PoolFunction::kAverageValid;
      return EmitPool(tile.space[1], tile.space[2], input, function, 1, plane, output);
    }
    for (const auto& rows : RunsOf(plan_.axes[1], plan_.counts_pad, tile.space[1])) {
      for (const auto& columns : RunsOf(plan_.axes[2], plan_.counts_pad, tile.space[2])) {
        const auto divisor = static_cast<float>(depth_divisor * rows.divisor * columns.divisor);
        const TileView block =
            Part(Part(output, kH, {rows.outputs.begin - tile.space[1].begin, rows.outputs.count}),
                 kW, {columns.outputs.begin - tile.space[2].begin, columns.outputs.count});
        EmitPool(rows.outputs, columns.outputs, input, PoolFunction::kAverageAll, 1 / divisor,
                 plane, block);
      }
    }
  }

  void EmitPool(IndexRange rows, IndexRange columns, const ImageRange& input, PoolFunction function,
                float alpha, const TileView& plane, const TileView& output) {
    Command command;
    command.opcode = Opcode::kPool;
    command.params.vector = {};
    command.params.vector.function = static_cast<uint8_t>(function);
    command.params.vector.alpha = alpha;
    Window& window = command.params.vector.window;
    TileView samples =
        SetAxis(plan_.axes[1], rows, input.space[1], kH, plane, window.kernel_height,
                window.stride_height, window.dilation_height, window.pad_top, window.input_height);
    samples =
        SetAxis(plan_.axes[2], columns, input.space[2], kW, samples, window.kernel_width,
                window.stride_width, window.dilation_width, window.pad_left, window.input_width);
    command.extent[0] = static_cast<int32_t>(rows.count);
    command.extent[1] = static_cast<int32_t>(columns.count);
    command.extent[2] = static_cast<int32_t>(output.extent[kC]);
    command.in0 = TileBuilder::Operand4(samples, {kH, kW, kC, -1});
    command.out = TileBuilder::Operand4(output, {kH, kW, kC, -1});
    builder_.Emit(command);
  }

  // The window along one axis; the result begins at the first sample that the outputs read.
  static TileView SetAxis(const AxisWindow& axis, IndexRange outputs, IndexRange loaded,
                          size_t view_axis, TileView samples, int16_t& kernel, int16_t& stride,
                          int16_t& dilation, int16_t& pad, int32_t& input) {
    const IndexRange read = SamplesOf(axis, false, outputs);
    kernel = static_cast<int16_t>(axis.kernel);
    stride = static_cast<int16_t>(axis.stride);
    dilation = static_cast<int16_t>(axis.dilation);
    pad = static_cast<int16_t>(read.begin - (outputs.begin * axis.stride - axis.pad_begin));
    input = static_cast<int32_t>(read.count);
    return Part(std::move(samples), view_axis, {read.begin - loaded.begin, read.count});
  }

  const Node& node_;
  const PoolPlan plan_;
  TileBuilder& builder_;
  const DType dtype_;
  const TileShape tile_;
  const OutputPart part_;
  RollingLoader images_;
};

}  // namespace

std::optional<PartRead> PoolPart(const OpCall& call, int, int axis, IndexRange outputs) {
  const AxisWindows axes = *ResolvePoolWindow(call);
  const int spatial = axis - SpatialAxis(DataLayout::kNhwc, 0);
  if (call.node->layout != DataLayout::kNhwc || spatial < 0 ||
      spatial >= static_cast<int>(axes.size())) {
    return std::nullopt;
  }
  return PartRead{axis, SamplesOf(axes[static_cast<size_t>(spatial)], false, outputs)};
}

IterationSpace PoolSpace(const OpCall& call) {
  const PoolPlan plan = PlanOf(call);
  const int64_t granule = plan.channels >= 16 ? 16 : plan.channels;
  return {{"batch", plan.batch, 1, 0},
          {"depth", plan.axes[0].output, 1, 1},
          {"height", plan.axes[1].output, 1, 2},
          {"width", plan.axes[2].output, 1, 3},
          {"channels", plan.channels, granule, 4}};
}

TileCost PoolCost(const OpCall& call, const TileShape& tile) {
  const PoolPlan plan = PlanOf(call);
  const int64_t element_bytes = DTypeBytes(call.output().dtype);
  int64_t samples = tile[kBatch] * tile[kChannels];
  for (size_t i = 0; i < 3; ++i) {
    samples *= MostSamples(plan.axes[i], false, tile[kDepth + i]);
  }
  Extents extent = {tile[kBatch]};
  for (size_t i = plan.missing; i < 3; ++i) extent.push_back(tile[kDepth + i]);
  extent.push_back(tile[kChannels]);
  const int64_t plane = AlignUp(tile[kHeight] * tile[kWidth] * tile[kChannels] * element_bytes, 64);
  const int64_t outputs =
      tile[kBatch] * tile[kDepth] * tile[kHeight] * tile[kWidth] * tile[kChannels];
  const int64_t input = call.IsOnChip(0) ? 0 : AlignUp(samples * element_bytes, 64);
  const int64_t results = (call.output_on_chip ? 0 : AlignUp(outputs * element_bytes, 64)) +
                          (plan.axes[0].kernel > 1 ? plane : 0);
  TileCost cost;
  // While rows are copied from the tile before, the outputs do not exist yet.
  cost.scratchpad_bytes =
      input + std::max(plan.Rolls(tile) ? input : 0, results) + TailBytes(call, extent);
  return cost;
}

absl::Status LowerPool(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  if (call.node->layout != DataLayout::kNhwc) {
    return Internal("a pool reaches the machine with its channels before its space");
  }
  return PoolEmitter(call, tile, builder).Run();
}

}  // namespace berth
