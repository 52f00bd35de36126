// The commands of a convolution, tile by tile.
#include <algorithm>
#include <limits>

#include "kernels/ops/convolution.h"
#include "kernels/ops/image_view.h"
#include "kernels/ops/matrix_stage.h"
#include "kernels/ops/quantized_product.h"
#include "kernels/ops/rolling_loader.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"

namespace berth {
namespace {

// Axes of weights, whatever the node's rank.
enum KernelAxis : size_t { kKernelD, kKernelH, kKernelW, kWeightIn, kWeightOut };

struct ConvTile {
  IndexRange batch;
  IndexRange space[3];  // outputs along depth, height, width
  IndexRange group;
  IndexRange out;  // channels inside a group, where group.count is 1
};

class ConvEmitter {
 public:
  ConvEmitter(const OpCall& call, const TileShape& tile, TileBuilder& builder)
      : node_(*call.node),
        conv_(ResolveThinned(call)),
        tile_(NormalizedConvolutionTile(conv_, tile)),
        stage_(call, builder),
        builder_(builder),
        dtype_(call.output().dtype),
        accumulator_dtype_(AccumulatorDType(call)),
        missing_(3 - conv_.axes.size()),
        part_(call.part),
        images_(node_.inputs[0], kH - missing_, RollsDown(conv_, tile_), builder),
        weights_outer_(WeightsOuter(call, conv_, tile_)) {}

  absl::Status Run() {
    if (weights_outer_) {
      ForEachChannelTile([&](ConvTile& tile) { ForEachImageTile(tile, [&] { EmitTile(tile); }); });
    } else {
      ConvTile tile;
      ForEachImageTile(tile, [&] {
        ForEachChannelTile([&](ConvTile& channels) {
          tile.group = channels.group;
          tile.out = channels.out;
          EmitTile(tile);
        });
      });
    }
    return builder_.status();
  }

 private:
  template <typename Body>
  void ForEachChannelTile(Body&& body) {
    ForEachTile(conv_.groups, tile_[kConvGroup], [&](IndexRange group) {
      ForEachTile(conv_.group_outputs(), tile_[kConvOut], [&](IndexRange out) {
        ConvTile tile;
        tile.group = group;
        tile.out = out;
        body(tile);
      });
    });
  }
  template <typename Body>
  void ForEachImageTile(ConvTile& tile, Body&& body) {
    const auto each = [&](int axis, IndexRange& range, auto&& inner) {
      ForEachTile(conv_.axis3(axis).output, tile_[kConvDepth + static_cast<size_t>(axis)],
                  [&](IndexRange part) {
                    range = part;
                    inner();
                  });
    };
    ForEachTile(conv_.batch, tile_[kConvBatch], [&](IndexRange batch) {
      tile.batch = batch;
      each(0, tile.space[0], [&] {
        // Rows innermost: neighbours share some.
        each(2, tile.space[2], [&] { each(1, tile.space[1], [&] { body(); }); });
      });
    });
  }

  // Channels of all groups of the tile, from ranges inside a group.
  static IndexRange Channels(IndexRange group, IndexRange inside, int64_t per_group) {
    return {group.begin * per_group + inside.begin, (group.count - 1) * per_group + inside.count};
  }

  IndexRange SamplesAlong(const ConvTile& tile, int axis) const {
    return SamplesOf(conv_.axis3(axis), conv_.transposed, tile.space[axis]);
  }

  TileView LoadImage(const ConvTile& tile, IndexRange in) {
    const Box box =
        Thinned(ImageBox({tile.batch,
                          {SamplesAlong(tile, 0), SamplesAlong(tile, 1), SamplesAlong(tile, 2)},
                          Channels(tile.group, in, conv_.group_inputs())},
                         missing_));
    return WithMissingAxes(images_.Load(box), kD, missing_);
  }

  // The box as positions of the value.
  Box Thinned(Box box) const {
    for (size_t i = missing_; i < 3; ++i) {
      const Convolution::Thinning& thinning = conv_.thinning[i];
      if (thinning.step == 1) continue;
      const size_t axis = kD + i - missing_;
      box.step.resize(box.begin.size(), 1);
      box.step[axis] = thinning.step;
      box.begin[axis] = thinning.first + box.begin[axis] * thinning.step;
    }
    return box;
  }

  TileView LoadWeights(const ConvTile& tile, IndexRange in) {
    Box box;
    for (const AxisWindow& axis : conv_.axes) {
      box.begin.push_back(0);
      box.extent.push_back(axis.kernel);
    }
    const IndexRange in_channels =
        conv_.transposed ? Channels(tile.group, in, conv_.group_inputs()) : in;
    const IndexRange out_channels =
        conv_.transposed ? tile.out : Channels(tile.group, tile.out, conv_.group_outputs());
    for (IndexRange range : {in_channels, out_channels}) {
      box.begin.push_back(range.begin);
      box.extent.push_back(range.count);
    }
    return WithMissingAxes(builder_.LoadHeld(node_.inputs[1], box, "weights"), kKernelD, missing_);
  }

  // Tiles of input channels in turn, forth and back, so that the last operands of one output tile
  // are the first of the next.
  std::vector<IndexRange> InputTiles() {
    std::vector<IndexRange> tiles;
    ForEachTile(conv_.group_inputs(), tile_[kConvIn], [&](IndexRange in) { tiles.push_back(in); });
    if (backwards_) std::reverse(tiles.begin(), tiles.end());
    backwards_ = !backwards_;
    return tiles;
  }

  // What one command writes.
  struct OutputBlock {
    int64_t image = 0;  // inside the tile's batch
    int64_t depth = 0;  // output row of depth inside the tile
    AxisPhase phase[3];
    int64_t group = 0;    // inside the tile's groups; the multiplier's step when depthwise
    IndexRange channels;  // of the group inside the tile; of the tile's groups when depthwise
    TileView accumulator;
  };

  // The phases of the rows in blocks that one command computes.
  std::vector<AxisPhase> RowBlocks(const ConvTile& tile) const {
    std::vector<AxisPhase> blocks;
    for (const AxisPhase& rows : PhasesOf(conv_.axis3(1), conv_.transposed, tile.space[1])) {
      ForEachTile(rows.out_count, tile_[kConvCommandRows], [&](IndexRange range) {
        AxisPhase block = rows;
        block.out_first += range.begin * rows.out_step;
        block.out_count = range.count;
        block.first_sample += range.begin * rows.stride;
        blocks.push_back(block);
      });
    }
    return blocks;
  }

  std::vector<OutputBlock> BlocksOf(const ConvTile& tile) {
    const std::vector<AxisPhase> row_blocks = RowBlocks(tile);
    const std::vector<AxisPhase> columns =
        PhasesOf(conv_.axis3(2), conv_.transposed, tile.space[2]);
    const int64_t groups = conv_.depthwise() ? conv_.group_outputs() : tile.group.count;
    const int64_t channels = conv_.depthwise() ? tile.group.count : tile.out.count;
    std::vector<OutputBlock> blocks;
    for (int64_t image = 0; image < tile.batch.count; ++image) {
      for (int64_t depth = 0; depth < tile.space[0].count; ++depth) {
        const AxisPhase plane =
            PhasesOf(conv_.axis3(0), conv_.transposed, {tile.space[0].begin + depth, 1})[0];
        for (const AxisPhase& rows : row_blocks) {
          for (const AxisPhase& column : columns) {
            for (int64_t group = 0; group < groups; ++group) {
              ForEachTile(channels, tile_[kConvCommandChannels], [&](IndexRange range) {
                blocks.push_back({image, depth, {plane, rows, column}, group, range, {}});
              });
            }
          }
        }
      }
    }
    return blocks;
  }

  void EmitTile(const ConvTile& tile) {
    if (!builder_.status().ok()) return;
    const Box box = InWhole(ImageBox({tile.batch,
                                      {tile.space[0], tile.space[1], tile.space[2]},
                                      Channels(tile.group, tile.out, conv_.group_outputs())},
                                     missing_),
                            part_);
    std::vector<OutputBlock> blocks = BlocksOf(tile);
    const TileView out = builder_.OutputTile(node_.outputs[0], dtype_, box, "output");
    const TileView output = WithMissingAxes(out, kD, missing_);
    const std::vector<IndexRange> inputs = InputTiles();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_last = i + 1 == inputs.size();
      const TileView image = LoadImage(tile, inputs[i]);
      const TileView weights = LoadWeights(tile, inputs[i]);
      const TileView bias =
          is_last ? stage_.LoadBias(Channels(tile.group, tile.out, conv_.group_outputs()))
                  : TileView{};
      for (OutputBlock& block : blocks) {
        if (i == 0) block.accumulator = NewAccumulator(block);
        EmitBlock(tile, block, inputs[i].count, image, weights, bias, output, i == 0, is_last);
      }
    }
    stage_.Finish(box, out);
  }

  TileView NewAccumulator(const OutputBlock& block) {
    return builder_.NewAccumulator(
        accumulator_dtype_,
        {block.phase[1].out_count, block.phase[2].out_count, block.channels.count});
  }

  // All planes of the kernel that meet a plane of the input; at least one command, which may read
  // zeros only.
  void EmitBlock(const ConvTile& tile, const OutputBlock& block, int64_t in_count,
                 const TileView& image, const TileView& weights, const TileView& bias,
                 const TileView& output, bool is_first, bool is_last) {
    const AxisPhase& plane = block.phase[0];
    const IndexRange planes = SamplesAlong(tile, 0);
    std::vector<std::pair<int64_t, int64_t>> meetings;  // kernel plane, input plane of the tile
    for (int64_t t = 0; t < plane.taps; ++t) {
      const int64_t sample = plane.first_sample + t * plane.dilation;
      if (sample < planes.begin || sample >= planes.end()) continue;
      meetings.emplace_back(plane.tap_first + t * plane.tap_step, sample - planes.begin);
    }
    const bool is_void = meetings.empty();
    if (is_void) meetings.emplace_back(0, 0);
    for (size_t i = 0; i < meetings.size(); ++i) {
      Command command;
      command.opcode = conv_.depthwise() ? Opcode::kDepthwise : Opcode::kConv;
      command.params.matrix = {};
      stage_.SetZeroPoints(command);
      TileView samples = Part(Part(image, kN, {block.image, 1}), kD, {meetings[i].second, 1});
      TileView taps = Part(weights, kKernelD, {meetings[i].first, 1});
      Window& window = command.params.matrix.window;
      SetAxis(tile, block, 1, is_void, samples, taps, window.kernel_height, window.stride_height,
              window.dilation_height, window.pad_top, window.input_height);
      SetAxis(tile, block, 2, is_void, samples, taps, window.kernel_width, window.stride_width,
              window.dilation_width, window.pad_left, window.input_width);
      SetChannels(block, in_count, samples, taps, command);
      if (!is_first || i > 0) command.flags |= kFlagAccumulate;
      command.acc = TileBuilder::Operand4(block.accumulator, {0, 1, 2, -1});
      if (is_last && i + 1 == meetings.size()) {
        stage_.WriteOut(BlockOutput(block, output), {kH, kW, kC}, BlockBias(block, bias), command);
      }
      builder_.Emit(command);
    }
  }

  // The window along one axis; moves `samples` to the first sample and `taps` to the first tap.
  void SetAxis(const ConvTile& tile, const OutputBlock& block, int axis, bool is_void,
               TileView& samples, TileView& taps, int16_t& kernel, int16_t& stride,
               int16_t& dilation, int16_t& pad, int32_t& input) {
    const size_t i = static_cast<size_t>(axis);
    const AxisPhase& phase = block.phase[i];
    const IndexRange loaded = SamplesAlong(tile, axis);
    const int64_t first = std::max(phase.first_sample, loaded.begin);
    int64_t padding = first - phase.first_sample;
    IndexRange present = {first - loaded.begin, loaded.end() - first};
    if (is_void || phase.taps == 0 || present.count < 1) {  // every tap falls before the input
      padding = phase.out_count * phase.stride + std::max<int64_t>(phase.taps, 1) * phase.dilation;
      present = {0, 1};
    }
    samples = Part(samples, kN + 1 + i, present);
    taps = Stepped(taps, kKernelD + i, phase.tap_first, phase.tap_step,
                   std::max<int64_t>(phase.taps, 1));
    if (padding > std::numeric_limits<int16_t>::max()) {
      builder_.Fail(Unimplemented("a pad of {} samples is more than a command holds", padding));
    }
    kernel = static_cast<int16_t>(std::max<int64_t>(phase.taps, 1));
    stride = static_cast<int16_t>(phase.stride);
    dilation = static_cast<int16_t>(phase.dilation);
    pad = static_cast<int16_t>(padding);
    input = static_cast<int32_t>(present.count);
  }

  // Extents and operands; the accumulator has the outputs' extents.
  void SetChannels(const OutputBlock& block, int64_t in_count, const TileView& samples,
                   const TileView& taps, Command& command) {
    const Extents& extent = block.accumulator.extent;
    for (size_t i = 0; i < 3; ++i) command.extent[i] = static_cast<int32_t>(extent[i]);
    if (conv_.depthwise()) {
      command.in0 = TileBuilder::Operand4(Part(samples, kC, block.channels), {kH, kW, kC, -1});
      // The multiplier's step `block.group` of every channel.
      const TileView column = conv_.transposed ? Part(Part(taps, kWeightOut, {block.group, 1}),
                                                      kWeightIn, block.channels)
                                               : BlockChannels(block, taps, kWeightOut);
      const int channel_axis = conv_.transposed ? int{kWeightIn} : int{kWeightOut};
      command.in1 = TileBuilder::Operand4(column, {kKernelH, kKernelW, channel_axis, -1});
      return;
    }
    command.extent[3] = static_cast<int32_t>(in_count);
    const int64_t in_first = block.group * conv_.group_inputs();
    command.in0 = TileBuilder::Operand4(Part(samples, kC, {in_first, in_count}), {kH, kW, -1, kC});
    const TileView column = conv_.transposed ? Part(Part(taps, kWeightIn, {in_first, in_count}),
                                                    kWeightOut, block.channels)
                                             : BlockChannels(block, taps, kWeightOut);
    command.in1 = TileBuilder::Operand4(column, {kKernelH, kKernelW, kWeightOut, kWeightIn});
  }

  // The output channels that a block writes, along `axis` of a view over the tile's channels.
  TileView BlockChannels(const OutputBlock& block, TileView view, size_t axis) const {
    if (conv_.depthwise()) {
      const int64_t step = conv_.group_outputs();
      return Stepped(std::move(view), axis, block.group + block.channels.begin * step, step,
                     block.channels.count);
    }
    const int64_t first = block.group * conv_.group_outputs() + block.channels.begin;
    return Part(std::move(view), axis, {first, block.channels.count});
  }
  TileView BlockBias(const OutputBlock& block, const TileView& bias) const {
    return bias.rank() == 0 ? bias : BlockChannels(block, bias, 0);
  }
  TileView BlockOutput(const OutputBlock& block, TileView output) const {
    output = Part(Part(std::move(output), kN, {block.image, 1}), kD, {block.depth, 1});
    for (size_t i = 1; i < 3; ++i) {
      const AxisPhase& phase = block.phase[i];
      output = Stepped(std::move(output), kD + i, phase.out_first, phase.out_step, phase.out_count);
    }
    return BlockChannels(block, std::move(output), kC);
  }

  const Node& node_;
  const Convolution conv_;
  const TileShape tile_;
  MatrixStage stage_;
  TileBuilder& builder_;
  const DType dtype_;
  const DType accumulator_dtype_;
  const size_t missing_;  // of three spatial axes
  const OutputPart part_;
  RollingLoader images_;
  const bool weights_outer_;
  bool backwards_ = false;
};

}  // namespace

absl::Status LowerConvolution(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  if (call.node->layout != DataLayout::kNhwc) {
    return Internal("a convolution reaches the machine with its channels before its space");
  }
  return ConvEmitter(call, tile, builder).Run();
}

}  // namespace berth
