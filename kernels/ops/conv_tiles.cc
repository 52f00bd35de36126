// Tile decisions of convolutions: what a tile costs, what a whole op moves, and the search for the
// tile that moves least.
#include <algorithm>
#include <array>
#include <vector>

#include "base/checked_math.h"
#include "kernels/ops/convolution.h"
#include "kernels/ops/moved_bytes.h"
#include "kernels/ops/rolling_loader.h"
#include "kernels/ops/tile_time.h"
#include "kernels/reuse_search.h"
#include "kernels/tail.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

int64_t TileCount(int64_t extent, int64_t tile) { return CeilDiv(extent, tile); }

// A geometry with everything that the search asks for again and again.
struct ConvProblem {
  const OpCall& call;
  Convolution conv;
  int64_t element_bytes;  // of the input
  int64_t weight_bytes, output_bytes;
  int64_t taps = 1;
  TailBuffers tail;
  // Samples of all tiles by axis and extent of a tile, as they are asked for; 0: not yet.
  mutable std::array<std::vector<int64_t>, 3> samples;

  ConvProblem(const OpCall& c, Convolution resolved)
      : call(c),
        conv(std::move(resolved)),
        element_bytes(DTypeBytes(c.input(0).dtype)),
        weight_bytes(DTypeBytes(c.input(1).dtype)),
        output_bytes(DTypeBytes(c.output().dtype)),
        tail(c) {
    for (const AxisWindow& axis : conv.axes) taps *= axis.kernel;
  }
  int64_t InputChannels(const TileShape& t) const { return t[kConvGroup] * t[kConvIn]; }
  int64_t OutputChannels(const TileShape& t) const { return t[kConvGroup] * t[kConvOut]; }
  bool has_bias() const { return call.HasInput(2); }
  int64_t Samples(int axis, int64_t extent) const {
    std::vector<int64_t>& known = samples[static_cast<size_t>(axis)];
    known.resize(std::max(known.size(), static_cast<size_t>(extent) + 1));
    int64_t& count = known[static_cast<size_t>(extent)];
    if (count == 0) count = SamplesOfAllTiles(conv.axis3(axis), conv.transposed, extent);
    return count;
  }
};

int64_t InputTileBytes(const ConvProblem& p, const TileShape& t) {
  if (p.call.IsOnChip(0)) return 0;
  int64_t samples = t[kConvBatch];
  for (int i = 0; i < 3; ++i) {
    samples *=
        MostSamples(p.conv.axis3(i), p.conv.transposed, t[kConvDepth + static_cast<size_t>(i)]);
  }
  return AlignUp(samples * p.InputChannels(t) * p.element_bytes, 64);
}
int64_t WeightTileBytes(const ConvProblem& p, const TileShape& t) {
  if (p.call.IsOnChip(1)) return 0;
  return AlignUp(p.taps * t[kConvGroup] * t[kConvIn] * t[kConvOut] * p.weight_bytes, 64);
}
int64_t OutputPixels(const TileShape& t) {
  return t[kConvBatch] * t[kConvDepth] * t[kConvHeight] * t[kConvWidth];
}
int64_t OutputTileBytes(const ConvProblem& p, const TileShape& t) {
  if (p.call.output_on_chip) return 0;
  return AlignUp(OutputPixels(t) * p.OutputChannels(t) * p.output_bytes, 64);
}

// A bias of a narrow dtype is loaded and then widened.
int64_t BiasBytes(const ConvProblem& p, const TileShape& t) {
  if (!p.has_bias()) return 0;
  const DType dtype = p.call.input(2).dtype;
  const int64_t loaded = AlignUp(p.OutputChannels(t) * DTypeBytes(dtype), 64);
  return DTypeBytes(dtype) >= 4 ? loaded : loaded + AlignUp(p.OutputChannels(t) * 4, 64);
}

Extents OutputBoxExtent(const ConvProblem& p, const TileShape& t) {
  Extents extent = {t[kConvBatch]};
  const size_t missing = 3 - p.conv.axes.size();
  for (size_t i = missing; i < 3; ++i) extent.push_back(t[kConvDepth + i]);
  extent.push_back(p.OutputChannels(t));
  return extent;
}

// Output rows or columns of one phase of a tile.
int64_t PhaseExtent(const ConvProblem& p, const TileShape& t, int axis) {
  const int64_t extent = t[kConvDepth + static_cast<size_t>(axis)];
  return p.conv.transposed ? CeilDiv(extent, p.conv.axis3(axis).stride) : extent;
}
// Output channels that commands may split.
int64_t SplitChannels(const ConvProblem& p, const TileShape& t) {
  return p.conv.depthwise() ? t[kConvGroup] : t[kConvOut];
}
bool SumsOverTiles(const ConvProblem& p, const TileShape& t) {
  return t[kConvIn] < p.conv.group_inputs();
}

// Commands that write different parts of one tile, each with its accumulator.
int64_t CommandsPerTile(const ConvProblem& p, const TileShape& t) {
  int64_t commands = t[kConvBatch] * t[kConvDepth] *
                     (p.conv.depthwise() ? p.conv.group_outputs() : t[kConvGroup]) *
                     CeilDiv(SplitChannels(p, t), t[kConvCommandChannels]) *
                     CeilDiv(PhaseExtent(p, t, 1), t[kConvCommandRows]);
  for (int axis = 1; axis < 3; ++axis) {
    if (p.conv.transposed) {
      commands *= std::min(p.conv.axis3(axis).stride, t[kConvDepth + static_cast<size_t>(axis)]);
    }
  }
  return commands;
}

int64_t AccumulatorBytes(const ConvProblem& p, const TileShape& t) {
  if (SumsOverTiles(p, t)) {
    return OutputPixels(t) * p.OutputChannels(t) * 4 + CommandsPerTile(p, t) * kAccumulatorPadBytes;
  }
  return AlignUp(t[kConvCommandRows] * PhaseExtent(p, t, 2) * t[kConvCommandChannels] * 4, 64);
}

// The largest commands whose sums fit.
void SetCommands(const ConvProblem& p, int64_t accumulator_budget_bytes, TileShape& t) {
  const int64_t rows = PhaseExtent(p, t, 1), channels = SplitChannels(p, t);
  t[kConvCommandRows] = rows;
  t[kConvCommandChannels] = channels;
  if (SumsOverTiles(p, t)) return;
  const int64_t granule = std::min<int64_t>(channels, 16);
  const int64_t row_words = PhaseExtent(p, t, 2);
  const int64_t budget_words = accumulator_budget_bytes / 8 / 64 * 16;
  for (int64_t blocks = 1; row_words * t[kConvCommandChannels] > budget_words; ++blocks) {
    t[kConvCommandChannels] = AlignUp(CeilDiv(channels, blocks), granule);
    if (t[kConvCommandChannels] == granule) break;
  }
  const int64_t fitting =
      std::max<int64_t>(1, budget_words / (row_words * t[kConvCommandChannels]));
  t[kConvCommandRows] = CeilDiv(rows, CeilDiv(rows, std::min(rows, fitting)));
}

TileCost CostOf(const ConvProblem& p, const TileShape& t) {
  const int64_t input = InputTileBytes(p, t);
  // While rows are copied from the tile before, the outputs do not exist yet.
  const int64_t moving = std::max(OutputTileBytes(p, t), RollsDown(p.conv, t) ? input : 0);
  TileCost cost;
  cost.scratchpad_bytes = input + moving + WeightTileBytes(p, t) + BiasBytes(p, t) +
                          p.tail.Bytes(OutputBoxExtent(p, t));
  cost.accumulator_bytes = AccumulatorBytes(p, t);
  return cost;
}

struct ConvTraffic {
  int64_t weights_outer_bytes = 0;  // weights stay, the image is read for every channel tile
  int64_t image_outer_bytes = 0;    // the image stays, weights are read for every image tile
  int64_t tiles = 0, image_tiles = 0, channel_tiles = 0;

  bool WeightsStay() const { return weights_outer_bytes < image_outer_bytes; }
};

ConvTraffic TrafficOf(const ConvProblem& p, const TileShape& t) {
  const Convolution& conv = p.conv;
  int64_t samples = conv.batch;
  int64_t image_tiles = TileCount(conv.batch, t[kConvBatch]);
  for (int i = 0; i < 3; ++i) {
    const int64_t extent = t[kConvDepth + static_cast<size_t>(i)];
    const AxisWindow axis = conv.axis3(i);
    samples *= i == 1 && RollsDown(p.conv, t) ? axis.input : p.Samples(i, extent);
    image_tiles *= TileCount(axis.output, extent);
  }
  const int64_t group_tiles = TileCount(conv.groups, t[kConvGroup]);
  const int64_t out_tiles = TileCount(conv.group_outputs(), t[kConvOut]);
  const int64_t in_tiles = TileCount(conv.group_inputs(), t[kConvIn]);
  const bool all_inputs = p.InputChannels(t) == conv.input_channels;
  const bool all_outputs = p.OutputChannels(t) == conv.output_channels;
  const int64_t image = p.call.IsOnChip(0)
                            ? 0
                            : MovedBytes(samples * conv.input_channels * p.element_bytes,
                                         all_inputs ? 0 : p.InputChannels(t) * p.element_bytes);
  const int64_t weights =
      p.call.IsOnChip(1)
          ? 0
          : MovedBytes(p.taps * conv.group_inputs() * conv.output_channels * p.weight_bytes,
                       all_outputs ? 0 : p.OutputChannels(t) * p.weight_bytes);
  ConvTraffic traffic;
  // With several tiles of input channels neither operand stays, save where it is one whole.
  const int64_t weight_passes = in_tiles > 1 || group_tiles * out_tiles > 1 ? image_tiles : 1;
  traffic.weights_outer_bytes = image * out_tiles + weights * (in_tiles > 1 ? image_tiles : 1);
  traffic.image_outer_bytes = image * (in_tiles > 1 ? out_tiles : 1) + weights * weight_passes;
  traffic.image_tiles = image_tiles;
  traffic.channel_tiles = group_tiles * out_tiles;
  traffic.tiles = image_tiles * traffic.channel_tiles * in_tiles;
  return traffic;
}

// The operand that stays while the other moves.
int64_t StayingBytes(const ConvProblem& p, const TileShape& t, const ConvTraffic& traffic) {
  if (SumsOverTiles(p, t)) return 0;
  return traffic.WeightsStay() ? WeightTileBytes(p, t) : InputTileBytes(p, t);
}

// What a tile costs by halves where the next one's buffers stand beside it: the operand that stays
// is there once.
TileCost HalvedCostOf(const ConvProblem& p, const TileShape& t) {
  TileCost cost = CostOf(p, t);
  cost.scratchpad_bytes -= StayingBytes(p, t, TrafficOf(p, t)) / 2;
  return cost;
}

// The array's cycles of a command over `rows` of outputs.
int64_t CommandCyclesOf(const ConvProblem& p, const Extents& extent, const NpuConfig& machine) {
  const Opcode opcode = p.conv.depthwise() ? Opcode::kDepthwise : Opcode::kConv;
  Command command = MatrixCommand(opcode, extent, p.call);
  Window& window = command.params.matrix.window;
  const auto taps = [&](int axis) {
    const AxisWindow& along = p.conv.axis3(axis);
    return static_cast<int16_t>(p.conv.transposed ? CeilDiv(along.kernel, along.stride)
                                                  : along.kernel);
  };
  window.kernel_height = taps(1);
  window.kernel_width = taps(2);
  window.stride_width = static_cast<int16_t>(p.conv.transposed ? 1 : p.conv.axis3(2).stride);
  return ComputeCycles(command, machine);
}

// Of all commands of the op, each with `command_cycles` more.
int64_t MatrixCycles(const ConvProblem& p, const TileShape& t, const NpuConfig& machine,
                     int64_t command_cycles) {
  const Convolution& conv = p.conv;
  int64_t images = conv.batch * conv.axis3(0).output * conv.axis3(0).kernel;
  if (conv.transposed) images *= conv.axis3(1).stride * conv.axis3(2).stride;
  const auto outputs = [&](int axis) {
    const AxisWindow& along = conv.axis3(axis);
    return conv.transposed ? CeilDiv(along.output, along.stride) : along.output;
  };
  const int64_t row_commands = TileCount(conv.axis3(1).output, t[kConvHeight]) *
                               CeilDiv(PhaseExtent(p, t, 1), t[kConvCommandRows]);
  const int64_t column_commands = TileCount(conv.axis3(2).output, t[kConvWidth]);
  const int64_t rows = CeilDiv(outputs(1), row_commands);
  const int64_t columns = CeilDiv(outputs(2), column_commands);
  const int64_t all_channels = conv.depthwise() ? conv.groups : conv.group_outputs();
  const int64_t groups = conv.depthwise() ? conv.group_outputs() : conv.groups;
  int64_t cycles = 0;
  ForTileSizes(all_channels, SplitChannels(p, t), [&](int64_t channels, int64_t tiles) {
    ForTileSizes(channels, t[kConvCommandChannels], [&](int64_t split, int64_t splits) {
      ForTileSizes(conv.group_inputs(), t[kConvIn], [&](int64_t inputs, int64_t sums) {
        const Extents extent = {rows, columns, split, inputs};
        cycles += tiles * splits * sums * (CommandCyclesOf(p, extent, machine) + command_cycles);
      });
    });
  });
  return cycles * images * groups * row_commands * column_commands;
}

int64_t Objective(const ConvProblem& p, const TileShape& t, const TileBudget& budget) {
  const ConvTraffic traffic = TrafficOf(p, t);
  const int64_t output =
      p.call.output_on_chip
          ? 0
          : MovedBytes(p.call.output().ByteCount(), p.OutputChannels(t) == p.conv.output_channels
                                                        ? 0
                                                        : p.OutputChannels(t) * p.output_bytes);
  TileTime time;
  time.sums_over_tiles = SumsOverTiles(p, t);
  time.whole_sums = budget.whole_sums && IsFloat(p.call.input(0).dtype);
  time.matrix_cycles = MatrixCycles(p, t, budget.machine, budget.command_cycles);
  time.command_cycles = traffic.tiles * kMovesOfTile * budget.command_cycles;
  time.moved_bytes = std::min(traffic.weights_outer_bytes, traffic.image_outer_bytes) + output +
                     traffic.tiles * kTileOverheadBytes;
  // Nothing runs beside the first load and the last store, nor where the operand that stays changes
  // without room for two.
  time.exposed_bytes = InputTileBytes(p, t) + WeightTileBytes(p, t) + OutputTileBytes(p, t);
  if (CostOf(p, t).scratchpad_bytes > budget.scratchpad_bytes) {
    const int64_t changes = traffic.WeightsStay() ? traffic.channel_tiles : traffic.image_tiles;
    time.exposed_bytes += (changes - 1) * StayingBytes(p, t, traffic);
  }
  return TotalCycles(time, budget.machine.dram);
}

// Output channels in whole columns of usual arrays; input channels so that the smallest tile fits
// even a small scratchpad.
int64_t OutGranule(const Convolution& conv) {
  if (conv.depthwise()) return conv.group_outputs();
  return conv.group_outputs() >= 16 ? 16 : conv.group_outputs();
}
int64_t InGranule(const Convolution& conv, int64_t taps) {
  int64_t granule = 16;
  while (granule > 1 && granule * taps > 72) granule /= 2;
  return std::min(granule, conv.group_inputs());
}

}  // namespace

IterationSpace ConvolutionSpace(const OpCall& call) {
  const ConvProblem p(call, ResolveThinned(call));
  const Convolution& conv = p.conv;
  return {{"batch", conv.batch, 1, 0},
          {"depth", conv.axis3(0).output, 1, 1},
          {"height", conv.axis3(1).output, 1, 2},
          {"width", conv.axis3(2).output, 1, 5},
          {"groups", conv.groups, 1, 3},
          {"output channels", conv.group_outputs(), OutGranule(conv), 4},
          {"input channels", conv.group_inputs(), InGranule(conv, p.taps), 6},
          {"rows of a command", conv.axis3(1).output, 1, -1},
          {"channels of a command", conv.depthwise() ? conv.groups : conv.group_outputs(), 1, -1}};
}

bool RollsDown(const Convolution& conv, const TileShape& tile) {
  return tile[kConvIn] == conv.group_inputs() &&
         RowsRoll(conv.axis3(1), tile[kConvHeight], conv.axis3(2), tile[kConvWidth]);
}

TileShape NormalizedConvolutionTile(const Convolution& conv, TileShape tile) {
  const bool is_partial = tile[kConvIn] < conv.group_inputs();
  if (tile[kConvOut] < conv.group_outputs() || is_partial) tile[kConvGroup] = 1;
  const int64_t channels = conv.depthwise() ? tile[kConvGroup] : tile[kConvOut];
  for (auto [loop, extent] : {std::pair{kConvCommandRows, tile[kConvHeight]},
                              std::pair{kConvCommandChannels, channels}}) {
    tile[loop] = is_partial ? extent : std::min(tile[loop], extent);
  }
  return tile;
}

TileCost ConvolutionCost(const OpCall& call, const TileShape& tile) {
  const ConvProblem p(call, ResolveThinned(call));
  return CostOf(p, NormalizedConvolutionTile(p.conv, tile));
}

bool WeightsOuter(const OpCall& call, const Convolution& conv, const TileShape& tile) {
  return TrafficOf(ConvProblem(call, conv), tile).WeightsStay();
}

absl::StatusOr<TileShape> ChooseConvolutionTile(const OpCall& call, const TileBudget& budget) {
  const ConvProblem p(call, ResolveThinned(call));
  ReuseSearch search{.budget = budget};
  search.space = ConvolutionSpace(call);
  search.chain = {kConvBatch, kConvDepth, kConvHeight, kConvWidth};
  search.free = {kConvGroup, kConvOut, kConvIn};
  search.is_useful = [&](const TileShape& t) {
    return NormalizedConvolutionTile(p.conv, t)[kConvGroup] == t[kConvGroup];
  };
  search.complete = [&](TileShape& t) { SetCommands(p, budget.accumulator_bytes, t); };
  search.cost = [&](const TileShape& t) { return HalvedCostOf(p, t); };
  search.objective = [&](const TileShape& t) { return Objective(p, t, budget); };
  return SearchTile(search);
}

}  // namespace berth
