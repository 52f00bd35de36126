#include "tests/kernels/op_harness.h"

#include <cstring>

#include "base/checked_math.h"
#include "kernels/rewrite.h"
#include "kernels/tile_builder.h"
#include "npu_sim/access.h"
#include "npu_sim/program.h"
#include "npu_sim/verify.h"

namespace berth::testing {
namespace {

constexpr int64_t kAlignmentBytes = 64;
constexpr int kGapElements = 3;
constexpr std::byte kUnwritten{0xff};  // a NaN in every float dtype

// Expands nodes until every one lowers itself; a tail goes to the node that makes output 0.
absl::Status ExpandAll(Graph& graph) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Node> nodes;
    for (const Node& node : graph.nodes) {
      const NodeCall call(graph, node);
      const OpDef& op = GetOpDef(node.kind);
      if (!NeedsExpansion(op, call.call())) {
        nodes.push_back(node);
        continue;
      }
      changed = true;
      const Node origin = node;
      GraphRewriter rewrite(graph, nodes, origin);
      BERTH_RETURN_IF_ERROR(op.expand(call.call(), rewrite));
      BERTH_RETURN_IF_ERROR(rewrite.status());
      for (Node& made : nodes) {
        if (!origin.outputs.empty() && origin.outputs[0] != ValueId::kNone &&
            !made.outputs.empty() && made.outputs[0] == origin.outputs[0]) {
          made.tail = origin.tail;
        }
      }
    }
    graph.nodes = std::move(nodes);
  }
  return absl::OkStatus();
}

struct AlignedBytes {
  std::vector<std::byte> storage;
  std::byte* data = nullptr;

  void Allocate(int64_t size_bytes) {
    storage.assign(static_cast<size_t>(size_bytes + 2 * kAlignmentBytes), kUnwritten);
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    data = storage.data() +
           (AlignUp(static_cast<int64_t>(address % kAlignmentBytes), kAlignmentBytes) -
            static_cast<int64_t>(address % kAlignmentBytes));
  }
};

// Copies between a dense tensor and strided bytes.
void CopyElements(const Shape& shape, const Extents& strides, int64_t element_bytes,
                  std::byte* strided, std::byte* dense, bool to_dense) {
  const int64_t count = shape.ElementCount();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = shape.rank(); axis-- > 0;) {
      offset += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    std::byte* a = strided + offset;
    std::byte* b = dense + i * element_bytes;
    std::memcpy(to_dense ? b : a, to_dense ? a : b, static_cast<size_t>(element_bytes));
  }
}

class MachineRun {
 public:
  MachineRun(Graph graph, const HarnessOptions& options)
      : graph_(std::move(graph)), options_(options) {}

  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) {
    BERTH_RETURN_IF_ERROR(ExpandAll(graph_));
    BERTH_ASSIGN_OR_RETURN(config_, LoadTarget("edge"));
    config_.scratchpad.size_bytes = options_.scratchpad_bytes;
    config_.accumulator.size_bytes = options_.accumulator_bytes;
    PlaceValues();
    TileBuilder builder(config_, graph_, placements_);
    builder.buffers() = resident_buffers_;
    builder.SetTableBase(constants_bytes_);
    BERTH_RETURN_IF_ERROR(Lower(builder));
    Allocate(builder, inputs);
    BERTH_RETURN_IF_ERROR(Execute(builder.commands()));
    return ReadOutputs();
  }

  const HarnessStats& stats() const { return stats_; }

 private:
  void PlaceValues() {
    placements_.resize(graph_.values.size());
    region_bytes_.assign(2 + graph_.inputs.size() + graph_.outputs.size(), 0);
    std::vector<int> regions(graph_.values.size(), 1);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].constant != nullptr) regions[i] = 0;
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      regions[Index(graph_.inputs[i])] = static_cast<int>(2 + i);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      regions[Index(graph_.outputs[i])] = static_cast<int>(2 + graph_.inputs.size() + i);
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      PlaceValue(graph_.values[i], regions[i], placements_[i]);
    }
    constants_bytes_ = region_bytes_[0];
  }

  void PlaceValue(const Value& value, int region, ValuePlacement& placement) {
    const bool gaps = options_.strided && region >= 2 && value.type.shape.rank() > 0;
    std::vector<int64_t> extents = value.type.shape.extents();
    if (gaps) extents.back() += kGapElements;
    const int64_t element_bytes = DTypeBytes(value.type.dtype);
    for (const int64_t stride : Shape(extents).DenseStrides()) {
      placement.stride_bytes.push_back(stride * element_bytes);
    }
    const int64_t size_bytes = Shape(extents).ElementCount() * element_bytes;
    if (options_.resident && region >= 2) {
      placement.space = MemorySpace::kScratchpad;
      placement.slot = static_cast<uint32_t>(resident_buffers_.size());
      VirtualBuffer buffer;
      buffer.size_bytes = size_bytes;
      buffer.role = "resident";
      resident_buffers_.push_back(buffer);
      return;
    }
    int64_t& end_bytes = region_bytes_[static_cast<size_t>(region)];
    placement.space = MemorySpace::kDram;
    placement.region = static_cast<uint16_t>(region);
    placement.offset_bytes = end_bytes;
    end_bytes = AlignUp(end_bytes + size_bytes, kAlignmentBytes);
  }

  absl::Status Lower(TileBuilder& builder) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (GetOpDef(node.kind).lower == nullptr) {
        return Unimplemented("{} does not lower", OpName(node.kind));
      }
      for (const OutputPart& part : PartsOf(node)) {
        builder.SetOp(static_cast<uint32_t>(i));
        builder.ForgetHeld();
        BERTH_RETURN_IF_ERROR(LowerPart(builder, node, part));
      }
    }
    return absl::OkStatus();
  }

  std::vector<OutputPart> PartsOf(const Node& node) const {
    constexpr int kAxis = 1;
    const NodeCall call(graph_, node);
    const OpDef& op = GetOpDef(node.kind);
    if (options_.parts == 1 || op.part == nullptr || call.call().output().shape.rank() < 3 ||
        !op.part(call.call(), 0, kAxis, {0, 1})) {
      return {{}};
    }
    const int64_t extent = call.call().output().shape[kAxis];
    std::vector<OutputPart> parts;
    for (int64_t i = 0; i < options_.parts; ++i) {
      const int64_t begin = extent * i / options_.parts;
      const int64_t end = extent * (i + 1) / options_.parts;
      if (begin < end) parts.push_back({kAxis, {begin, end - begin}});
    }
    return parts;
  }

  absl::Status LowerPart(TileBuilder& builder, const Node& node, const OutputPart& part) {
    const OpDef& op = GetOpDef(node.kind);
    const NodeCall call(graph_, node, part, placements_);
    BERTH_ASSIGN_OR_RETURN(const TileShape tile,
                           DefaultTile(op, call.call(),
                                       {options_.scratchpad_bytes * 45 / 100,
                                        options_.accumulator_bytes * 45 / 100, builder.config()}));
    const size_t begin = builder.commands().size();
    builder.SetReads(node);
    BERTH_RETURN_IF_ERROR(op.lower(call.call(), tile, builder));
    BERTH_RETURN_IF_ERROR(builder.status());
    return CheckCost(builder, begin, TileCostOf(op, call.call(), tile), node);
  }

  // Buffers live from their first to their last command.
  absl::Status CheckCost(TileBuilder& builder, size_t begin, const TileCost& cost,
                         const Node& node) {
    std::map<uint32_t, std::pair<size_t, size_t>> lives;
    const std::vector<Command>& commands = builder.commands();
    for (size_t i = begin; i < commands.size(); ++i) {
      const Command& c = commands[i];
      for (const Operand* operand : {&c.out, &c.in0, &c.in1, &c.in2, &c.acc}) {
        if (!operand->present() || operand->space == MemorySpace::kDram) continue;
        if (operand->slot < resident_buffers_.size()) continue;
        lives.try_emplace(operand->slot, i, i).first->second.second = i;
      }
    }
    std::vector<std::array<int64_t, 2>> delta(commands.size() - begin + 1, {0, 0});
    for (const auto& [slot, life] : lives) {
      const VirtualBuffer& buffer = builder.buffers()[slot];
      const size_t kind = buffer.space == MemorySpace::kAccumulator ? 1 : 0;
      const int64_t bytes = AlignUp(buffer.size_bytes, kAlignmentBytes);
      delta[life.first - begin][kind] += bytes;
      delta[life.second - begin + 1][kind] -= bytes;
    }
    std::array<int64_t, 2> live = {0, 0}, peak = {0, 0};
    for (const auto& change : delta) {
      for (size_t kind = 0; kind < 2; ++kind) {
        live[kind] += change[kind];
        peak[kind] = std::max(peak[kind], live[kind]);
      }
    }
    stats_.peak_live_bytes = std::max(stats_.peak_live_bytes, peak[0]);
    if (peak[0] > cost.scratchpad_bytes || peak[1] > AlignUp(cost.accumulator_bytes, 64)) {
      return Internal(
          "{}: {} bytes of scratchpad and {} of accumulators live, the cost says {}, {}",
          OpName(node.kind), peak[0], peak[1], cost.scratchpad_bytes, cost.accumulator_bytes);
    }
    return absl::OkStatus();
  }

  void Allocate(TileBuilder& builder, const std::vector<Tensor>& inputs) {
    buffers_ = builder.buffers();
    int64_t ends[2] = {0, 0};
    for (const VirtualBuffer& buffer : buffers_) {
      int64_t& end = ends[buffer.space == MemorySpace::kAccumulator ? 1 : 0];
      buffer_offsets_.push_back(end);
      end = AlignUp(end + buffer.size_bytes, kAlignmentBytes);
    }
    scratchpad_.Allocate(ends[0]);
    accumulator_.Allocate(ends[1]);
    region_bytes_[0] += static_cast<int64_t>(builder.table_bytes().size());
    regions_.resize(region_bytes_.size());
    for (size_t i = 0; i < regions_.size(); ++i) {
      regions_[i].Allocate(region_bytes_[i]);
      region_pointers_.push_back(regions_[i].data);
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].constant != nullptr) Write(i, *graph_.values[i].constant);
    }
    std::copy(builder.table_bytes().begin(), builder.table_bytes().end(),
              region_pointers_[0] + constants_bytes_);
    for (size_t i = 0; i < inputs.size(); ++i) Write(Index(graph_.inputs[i]), inputs[i]);
  }

  std::byte* Place(size_t value) {
    const ValuePlacement& placement = placements_[value];
    std::byte* base = placement.space == MemorySpace::kScratchpad
                          ? scratchpad_.data + buffer_offsets_[placement.slot]
                          : region_pointers_[placement.region];
    return base + placement.offset_bytes;
  }

  void Write(size_t value, const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes().begin(), tensor.bytes().end());
    CopyElements(tensor.shape(), placements_[value].stride_bytes, DTypeBytes(tensor.dtype()),
                 Place(value), bytes.data(), false);
  }

  std::vector<Tensor> ReadOutputs() {
    std::vector<Tensor> outputs;
    for (const ValueId id : graph_.outputs) {
      Tensor tensor(graph_.at(id).type);
      CopyElements(tensor.shape(), placements_[Index(id)].stride_bytes, DTypeBytes(tensor.dtype()),
                   Place(Index(id)), tensor.bytes().data(), true);
      outputs.push_back(std::move(tensor));
    }
    return outputs;
  }

  // Virtual to final addresses; every access inside its buffer.
  absl::Status Resolve(Command& command) {
    const AccessList accesses = CollectAccesses(command);
    for (const Access& access : accesses) {
      const int64_t size_bytes =
          access.space == MemorySpace::kDram
              ? region_bytes_[access.region]
              : (access.slot < buffers_.size() ? buffers_[access.slot].size_bytes : -1);
      if (access.offset_bytes < 0 || access.end_bytes() > size_bytes) {
        return Internal("operand {} touches [{}, {}) of {} bytes", access.operand,
                        access.offset_bytes, access.end_bytes(), size_bytes);
      }
    }
    for (Operand* operand :
         {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
      if (operand->space == MemorySpace::kDram || !operand->present()) continue;
      operand->offset_bytes += buffer_offsets_[operand->slot];
    }
    return absl::OkStatus();
  }

  void Count(const Command& command) {
    ++stats_.commands;
    const EngineKind engine = EngineOf(command.opcode);
    if (engine == EngineKind::kVector) ++stats_.vector_commands;
    if (engine == EngineKind::kMatrix) ++stats_.matrix_commands;
    if (engine != EngineKind::kDma) return;
    ++stats_.dma_commands;
    for (const Access& access : CollectAccesses(command)) {
      if (access.space != MemorySpace::kDram) continue;
      (access.is_write ? stats_.store_bytes : stats_.load_bytes) += access.total_bytes();
    }
  }

  absl::Status Execute(std::vector<Command>& commands) {
    TileProgram program;
    program.engines = CoreEngines(static_cast<int>(config_.dma.channels));
    for (const int64_t bytes : region_bytes_) program.regions.push_back({bytes});
    const MemoryMap memory{scratchpad_.data, accumulator_.data, region_pointers_};
    for (size_t i = 0; i < commands.size(); ++i) {
      Command command = commands[i];
      program.commands = {command};
      const auto where = [&](const absl::Status& status) {
        return status.ok() ? status : Annotate(status, DumpCommand(program.view(), 0));
      };
      BERTH_RETURN_IF_ERROR(where(Resolve(command)));
      program.commands = {command};
      BERTH_RETURN_IF_ERROR(where(VerifyCommand(program.view(), config_, 0)));
      Count(commands[i]);
      AlignedBytes scratch;
      const int64_t scratch_bytes = ScratchBytes(command);
      scratch.Allocate(scratch_bytes);
      for (int part = 0; part < PartCount(command); ++part) {
        BERTH_RETURN_IF_ERROR(where(
            ExecuteCommand(command, part, memory,
                           absl::Span<std::byte>(scratch.data, static_cast<size_t>(scratch_bytes)),
                           options_.host_functions)));
      }
    }
    return absl::OkStatus();
  }

  Graph graph_;
  const HarnessOptions options_;
  NpuConfig config_;
  std::vector<ValuePlacement> placements_;
  std::vector<VirtualBuffer> resident_buffers_, buffers_;
  std::vector<int64_t> buffer_offsets_, region_bytes_;
  int64_t constants_bytes_ = 0;
  AlignedBytes scratchpad_, accumulator_;
  std::vector<AlignedBytes> regions_;
  std::vector<std::byte*> region_pointers_;
  HarnessStats stats_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunGraphOnMachine(const Graph& graph,
                                                      const std::vector<Tensor>& inputs,
                                                      const HarnessOptions& options,
                                                      HarnessStats* stats) {
  MachineRun run(graph, options);
  auto outputs = run.Run(inputs);
  if (stats != nullptr) *stats = run.stats();
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> RunOnMachine(const OpCase& test, const HarnessOptions& options,
                                                 HarnessStats* stats) {
  return RunGraphOnMachine(test.graph(), test.inputs(), options, stats);
}

}  // namespace berth::testing
