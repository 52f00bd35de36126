#include "tools/layer_program.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "kernels/reference/reference.h"
#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "planner/compile.h"

namespace berth {
namespace {

constexpr int kOpset = 17;
constexpr int64_t kLargestExtent = int64_t{1} << 24;
constexpr int64_t kLargestProductExtent = int64_t{1} << 30;
constexpr int64_t kLargestMacs = int64_t{1} << 50;
constexpr int64_t kLargestKernel = 1024;
constexpr int64_t kNarrowing = 4;  // bytes of float32 over bytes of int8

absl::Status CheckExtent(std::string_view name, int64_t extent, int64_t least, int64_t most) {
  if (extent >= least && extent <= most) return absl::OkStatus();
  return InvalidArgument("layer: {} is {}, allowed: {}..{}", name, extent, least, most);
}

absl::Status CheckConv(const Layer& l) {
  BERTH_RETURN_IF_ERROR(CheckExtent("input height", l.input_height, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("input width", l.input_width, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("input channels", l.input_channels, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("filter height", l.filter_height, 1, kLargestKernel));
  BERTH_RETURN_IF_ERROR(CheckExtent("filter width", l.filter_width, 1, kLargestKernel));
  BERTH_RETURN_IF_ERROR(CheckExtent("filters", l.filters, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("stride", l.stride, 1, kLargestKernel));
  BERTH_RETURN_IF_ERROR(CheckExtent("pad", l.pad, 0, kLargestKernel));
  BERTH_RETURN_IF_ERROR(CheckExtent("groups", l.groups, 1, l.input_channels));
  if (l.input_channels % l.groups != 0 || l.filters % l.groups != 0) {
    return InvalidArgument("layer: {} input channels and {} filters do not divide into {} groups",
                           l.input_channels, l.filters, l.groups);
  }
  if (l.input_height + 2 * l.pad < l.filter_height || l.input_width + 2 * l.pad < l.filter_width) {
    return InvalidArgument(
        "layer: a filter of {}x{} does not fit an input of {}x{} with a pad of {}", l.filter_height,
        l.filter_width, l.input_height, l.input_width, l.pad);
  }
  return absl::OkStatus();
}

absl::Status CheckGemm(const Layer& l) {
  BERTH_RETURN_IF_ERROR(CheckExtent("batch", l.batch, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("M", l.m, 1, kLargestExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("N", l.n, 1, kLargestExtent));
  return CheckExtent("K", l.k, 1, kLargestExtent);
}

// A convolution of one group is a product of its window.
struct Product {
  int64_t batch = 1, m = 1, n = 1, k = 1;
};
Product AsProduct(const Layer& l) {
  if (l.kind == LayerKind::kGemm) return {l.batch, l.m, l.n, l.k};
  return {l.groups, l.output_height() * l.output_width(), l.filters / l.groups,
          l.filter_height * l.filter_width * (l.input_channels / l.groups)};
}

void SetExtents(Command& command, std::array<int64_t, 4> extents) {
  for (size_t d = 0; d < 4; ++d) command.extent[d] = static_cast<int32_t>(extents[d]);
}

Window WindowOf(const Layer& l) {
  Window window;
  window.kernel_height = static_cast<int16_t>(l.filter_height);
  window.kernel_width = static_cast<int16_t>(l.filter_width);
  window.stride_height = window.stride_width = static_cast<int16_t>(l.stride);
  window.pad_top = window.pad_left = static_cast<int16_t>(l.pad);
  window.input_height = static_cast<int32_t>(l.input_height);
  window.input_width = static_cast<int32_t>(l.input_width);
  return window;
}

Graph GemmGraph(const Layer& l, DType dtype) {
  Graph graph;
  Node node;
  node.kind = OpKind::kMatMul;
  const auto type = [&](int64_t rows, int64_t columns) {
    return TensorType{dtype, l.batch > 1 ? Shape{l.batch, rows, columns} : Shape{rows, columns}};
  };
  graph.inputs = {graph.AddValue("a", type(l.m, l.k)), graph.AddValue("b", type(l.k, l.n))};
  graph.outputs = {graph.AddValue("y", type(l.m, l.n))};
  graph.nodes.push_back(std::move(node));
  return graph;
}

Graph ConvGraph(const Layer& l, DType dtype) {
  Graph graph;
  Node node;
  node.kind = OpKind::kConv;
  node.layout = DataLayout::kNhwc;
  node.attributes.Set("kernel_shape", std::vector<int64_t>{l.filter_height, l.filter_width});
  node.attributes.Set("strides", std::vector<int64_t>{l.stride, l.stride});
  node.attributes.Set("pads", std::vector<int64_t>{l.pad, l.pad, l.pad, l.pad});
  node.attributes.Set("group", l.groups);
  graph.inputs = {
      graph.AddValue("x", {dtype, Shape{1, l.input_height, l.input_width, l.input_channels}}),
      graph.AddValue("w", {dtype, Shape{l.filter_height, l.filter_width,
                                        l.input_channels / l.groups, l.filters}})};
  graph.outputs = {
      graph.AddValue("y", {dtype, Shape{1, l.output_height(), l.output_width(), l.filters}})};
  graph.nodes.push_back(std::move(node));
  return graph;
}

Graph LayerGraph(const Layer& layer, DType dtype) {
  Graph graph = layer.kind == LayerKind::kGemm ? GemmGraph(layer, dtype) : ConvGraph(layer, dtype);
  graph.name = "layer";
  Node& node = graph.nodes[0];
  node.name = "layer";
  node.opset = kOpset;
  node.inputs = graph.inputs;
  node.outputs = graph.outputs;
  return graph;
}

// Float32 at 4 bytes an element becomes int8 at 1; accumulators keep their 32-bit words.
void Narrow(Operand& operand) {
  if (operand.dtype != DType::kFloat32) return;
  if (operand.space == MemorySpace::kAccumulator) {
    operand.dtype = DType::kInt32;
    return;
  }
  operand.dtype = DType::kInt8;
  operand.offset_bytes /= kNarrowing;
  for (int32_t& stride_bytes : operand.stride_bytes) stride_bytes /= int32_t{kNarrowing};
}

void Narrow(BundleContents& contents, const NpuConfig& config) {
  TileProgram& program = contents.program;
  for (Command& command : program.commands) {
    for (Operand* operand :
         {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
      Narrow(*operand);
    }
  }
  for (Slot& slot : program.slots) {
    if (slot.space == MemorySpace::kAccumulator) continue;
    slot.offset_bytes /= kNarrowing;
    slot.size_bytes = CeilDiv(slot.size_bytes, kNarrowing);
  }
  for (DramRegion& region : program.regions) {
    region.size_bytes = CeilDiv(region.size_bytes, kNarrowing);
  }
  program.scratchpad_bytes = CeilDiv(program.scratchpad_bytes, kNarrowing);
  for (std::vector<TensorInfo>* tensors : {&contents.inputs, &contents.outputs}) {
    for (TensorInfo& tensor : *tensors) tensor.type.dtype = DType::kInt8;
  }
  for (MemoryPlan& plan : contents.memories) {
    if (plan.memory == "accumulator") continue;
    plan.height_bytes = CeilDiv(plan.height_bytes, kNarrowing);
    plan.lower_bound_bytes = CeilDiv(plan.lower_bound_bytes, kNarrowing);
    plan.capacity_bytes /= kNarrowing;
  }
  contents.cycles_lower_bound_mapped = 0;
  for (OpInfo& op : contents.ops) {
    op.min_dram_bytes = CeilDiv(op.min_dram_bytes, kNarrowing);
    op.mapped_cycles = op.mapped_cycles * CyclesPerStep(1, config.matrix) /
                       CyclesPerStep(config.matrix.fp32_rate_divisor, config.matrix);
    contents.cycles_lower_bound_mapped += op.mapped_cycles;
  }
  contents.dram_bytes_lower_bound = CeilDiv(contents.dram_bytes_lower_bound, kNarrowing);
  int64_t macs = 0;
  for (const Command& command : program.commands) macs += CommandMacs(command);
  contents.cycles_lower_bound = std::max(
      CeilDiv(macs, config.matrix.int8_macs_per_cycle),
      CeilDiv(contents.dram_bytes_lower_bound * 1000, config.dram.peak_millibytes_per_cycle));
  contents.cycles_lower_bound_mapped =
      std::max(contents.cycles_lower_bound_mapped, contents.cycles_lower_bound);
  contents.config = config;
}

}  // namespace

absl::Status CheckLayer(const Layer& layer) {
  BERTH_RETURN_IF_ERROR(layer.kind == LayerKind::kGemm ? CheckGemm(layer) : CheckConv(layer));
  const Product p = AsProduct(layer);
  // Of a window: more pixels or taps than a command's 32-bit extents hold.
  BERTH_RETURN_IF_ERROR(CheckExtent("number of output pixels", p.m, 1, kLargestProductExtent));
  BERTH_RETURN_IF_ERROR(CheckExtent("length of the sums", p.k, 1, kLargestProductExtent));
  const auto macs = CheckedMul(p.batch * p.m, p.n * p.k);
  if (macs && *macs <= kLargestMacs) return absl::OkStatus();
  return InvalidArgument("layer: {} products of {} x {} by {} x {}, allowed: {} multiplications",
                         p.batch, p.m, p.k, p.k, p.n, kLargestMacs);
}

Command WholeLayerCommand(const Layer& layer) {
  Command command;
  command.params.matrix = MatrixParams{};
  command.in0.dtype = command.in1.dtype = layer.dtype;
  if (layer.kind == LayerKind::kDepthwise) {
    command.opcode = Opcode::kDepthwise;
    SetExtents(command, {layer.output_height(), layer.output_width(), layer.filters, 1});
    command.params.matrix.window = WindowOf(layer);
  } else if (layer.kind == LayerKind::kConv && layer.groups == 1) {
    command.opcode = Opcode::kConv;
    SetExtents(command,
               {layer.output_height(), layer.output_width(), layer.filters, layer.input_channels});
    command.params.matrix.window = WindowOf(layer);
  } else {
    const Product p = AsProduct(layer);
    command.opcode = Opcode::kGemm;
    SetExtents(command, {p.batch, p.m, p.n, p.k});
  }
  return command;
}

absl::StatusOr<BundleContents> CompileLayer(const Layer& layer, const NpuConfig& config) {
  const bool narrow = layer.dtype == DType::kInt8;
  CompileOptions options;
  options.config = config;
  options.evaluator = EvaluateNode;
  if (narrow) {
    options.config.scratchpad.size_bytes *= kNarrowing;
    options.config.dram.size_bytes *= kNarrowing;
  }
  Graph graph = LayerGraph(layer, narrow ? DType::kFloat32 : layer.dtype);
  BERTH_RETURN_IF_ERROR(InferTypes(graph));
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileGraph(std::move(graph), options));
  if (!narrow) return contents;
  Narrow(contents, config);
  const absl::Status proof = VerifyProgram(contents.program.view(), config);
  if (!proof.ok()) return Internal("the int8 program does not verify: {}", ToStd(proof.message()));
  return contents;
}

}  // namespace berth
