#include "planner/schedule/lower.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "npu_sim/access.h"
#include "npu_sim/timing.h"
#include "planner/bounds.h"
#include "planner/check_stop.h"

namespace berth {
namespace {

// `resident`: of the buffers that are whole in scratchpad, their virtual ones.
std::vector<ValuePlacement> PlaceValues(const Graph& graph, const StoragePlan& storage,
                                        const std::vector<uint32_t>& resident) {
  std::vector<ValuePlacement> placements(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const StoragePlace& place = storage.places[i];
    if (place.buffer < 0) continue;
    const StorageBuffer& buffer = storage.buffers[static_cast<size_t>(place.buffer)];
    if (buffer.home == StorageHome::kRows) continue;
    ValuePlacement& placement = placements[i];
    placement.offset_bytes = buffer.offset_bytes + place.offset_bytes;
    placement.stride_bytes = place.stride_bytes;
    if (buffer.home == StorageHome::kScratchpad) {
      placement.space = MemorySpace::kScratchpad;
      placement.slot = resident[static_cast<size_t>(place.buffer)];
      continue;
    }
    placement.space = MemorySpace::kDram;
    switch (buffer.kind) {
      case RegionKind::kConstants:
        placement.region = kConstantsRegion;
        break;
      case RegionKind::kPool:
        placement.region = kPoolRegion;
        placement.slot = static_cast<uint32_t>(place.buffer);
        break;
      case RegionKind::kInput:
        placement.region = InputRegion(buffer.index);
        break;
      case RegionKind::kOutput:
        placement.region = OutputRegion(graph, buffer.index);
        break;
    }
  }
  return placements;
}

// One virtual buffer for every buffer that is whole in scratchpad.
std::vector<uint32_t> MakeResidentBuffers(const StoragePlan& storage, TileBuilder& builder) {
  std::vector<uint32_t> resident(storage.buffers.size(), kNoSlot);
  for (size_t i = 0; i < storage.buffers.size(); ++i) {
    const StorageBuffer& buffer = storage.buffers[i];
    if (buffer.home != StorageHome::kScratchpad) continue;
    builder.SetOp(static_cast<uint32_t>(buffer.begin_step));
    resident[i] = builder.NewBuffer(MemorySpace::kScratchpad, buffer.size_bytes, "resident");
  }
  return resident;
}

// Where the result stands, for people; nothing for DRAM.
std::string HomeOfResult(const Node& node, const StoragePlan& storage) {
  if (node.outputs.empty() || node.outputs[0] == ValueId::kNone) return "";
  const int buffer = storage.places[Index(node.outputs[0])].buffer;
  if (buffer < 0) return "";
  switch (storage.buffers[static_cast<size_t>(buffer)].home) {
    case StorageHome::kDram:
      return "";
    case StorageHome::kScratchpad:
      return "result stays on chip";
    case StorageHome::kRows:
      return "result on chip row by row";
  }
  return "";
}

// The builder looks at `placements` where they are.
void Place(std::vector<ValuePlacement> placed, std::vector<ValuePlacement>& placements) {
  std::move(placed.begin(), placed.end(), placements.begin());
}

// Budgets in steps of so many bytes let tile decisions be found again.
constexpr int64_t kBudgetStepBytes = 1024;

std::string KindName(const Node& node) {
  std::string name(OpName(node.kind));
  for (const FusedOp& fused : node.tail) name += fmt::format("+{}", OpName(fused.kind));
  return name;
}

// Weights, inputs and outputs of the node once.
// Scalar constants do not count: they may become parameters of commands.
int64_t MinDramBytes(const Graph& graph, const Node& node) {
  std::set<ValueId> touched;
  for (const ValueId value : ReadValues(node)) {
    const Value& read = graph.at(value);
    if (read.constant == nullptr || read.type.shape.ElementCount() > 1) touched.insert(value);
  }
  for (const ValueId value : node.outputs) {
    if (value != ValueId::kNone) touched.insert(value);
  }
  int64_t bytes = 0;
  for (const ValueId value : touched) bytes += graph.at(value).type.ByteCount();
  return bytes;
}

// Keeps of the provisional constants region only the ranges that commands read, in their order, and
// moves the operands along.
class ConstantPacker {
 public:
  ConstantPacker(const Graph& graph, const StoragePlan& storage, int64_t table_base_bytes,
                 const std::vector<std::byte>& tables)
      : table_base_bytes_(table_base_bytes), tables_(tables) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      const int buffer = storage.places[i].buffer;
      if (graph.values[i].constant == nullptr || buffer < 0) continue;
      const StorageBuffer& storage_buffer = storage.buffers[static_cast<size_t>(buffer)];
      if (storage_buffer.kind != RegionKind::kConstants) continue;
      sources_[storage_buffer.offset_bytes] = graph.values[i].constant.get();
    }
    bytes_.reserve(static_cast<size_t>(table_base_bytes) + tables.size());
  }

  void Move(Operand& operand) {
    if (operand.space != MemorySpace::kDram || operand.region != kConstantsRegion) return;
    if (operand.offset_bytes >= table_base_bytes_) {
      operand.offset_bytes += Take(table_base_bytes_, tables_) - table_base_bytes_;
      return;
    }
    const auto source = std::prev(sources_.upper_bound(operand.offset_bytes));
    operand.offset_bytes += Take(source->first, source->second->bytes()) - source->first;
  }

  std::vector<std::byte> TakeBytes() { return std::move(bytes_); }
  int64_t source_bytes() const { return source_bytes_; }

 private:
  int64_t Take(int64_t provisional_offset, absl::Span<const std::byte> source) {
    const auto [found, inserted] = moved_.try_emplace(provisional_offset, 0);
    if (inserted) {
      found->second = AlignUp(static_cast<int64_t>(bytes_.size()), 64);
      bytes_.resize(static_cast<size_t>(found->second) + source.size());
      std::memcpy(bytes_.data() + found->second, source.data(), source.size());
      source_bytes_ += static_cast<int64_t>(source.size());
    }
    return found->second;
  }

  int64_t table_base_bytes_;
  const std::vector<std::byte>& tables_;
  std::map<int64_t, const Tensor*> sources_;  // by provisional offset
  std::map<int64_t, int64_t> moved_;          // provisional -> final offset
  std::vector<std::byte> bytes_;
  int64_t source_bytes_ = 0;
};

int64_t ConstantsEnd(const StoragePlan& storage) {
  int64_t end_bytes = 0;
  for (const StorageBuffer& buffer : storage.buffers) {
    if (buffer.kind != RegionKind::kConstants) continue;
    end_bytes = std::max(end_bytes, buffer.offset_bytes + buffer.size_bytes);
  }
  return AlignUp(end_bytes, 64);
}

// Every access on chip lies in its virtual buffer: what placement and emission rely on.
absl::Status CheckBuffers(const LoweredProgram& lowered) {
  for (size_t i = 0; i < lowered.commands.size(); ++i) {
    for (const Access& access : CollectAccesses(lowered.commands[i])) {
      if (access.space == MemorySpace::kDram || access.space == MemorySpace::kNone) continue;
      const bool exists = access.slot < lowered.buffers.size();
      const int64_t size_bytes = exists ? lowered.buffers[access.slot].size_bytes : 0;
      if (access.offset_bytes >= 0 && access.end_bytes() <= size_bytes) continue;
      const OpInfo& op = lowered.ops[lowered.commands[i].op];
      return Internal("command {} of '{}' ({}) touches bytes [{}, {}) of a '{}' buffer of {}", i,
                      op.name, op.decision, access.offset_bytes, access.end_bytes(),
                      exists ? lowered.buffers[access.slot].role : "missing", size_bytes);
    }
  }
  return absl::OkStatus();
}

// The rows that a striped segment holds; nothing where it is not striped, or cannot be.
std::optional<BandPlan> BandsOf(const LoweringContext& context, const Segment& segment) {
  if (!segment.is_striped()) return std::nullopt;
  return PlanBands(context.graph, context.storage, context.tables.uses, context.tables.reads,
                   segment);
}

// What a tile may take in `segment`.
SegmentBudget BudgetOf(const LoweringContext& context, const Segment& segment,
                       const std::optional<BandPlan>& bands, const LowerOptions& options) {
  const NpuConfig& config = context.builder.config();
  int64_t free_bytes = config.scratchpad.size_bytes;
  for (const StorageBuffer& buffer : context.storage.buffers) {
    const bool is_live =
        buffer.begin_step < segment.end_step && buffer.end_step > segment.begin_step;
    if (buffer.home == StorageHome::kScratchpad && is_live) free_bytes -= buffer.size_bytes;
  }
  if (bands) free_bytes -= HeldBytes(context.graph, context.storage, *bands, segment);
  SegmentBudget budget;
  budget.scratchpad_bytes = std::max<int64_t>(free_bytes, 0) * options.tile_percent / 100 /
                            kBudgetStepBytes * kBudgetStepBytes;
  budget.scratchpad_limit_bytes = config.scratchpad.size_bytes;
  budget.accumulator_bytes = config.accumulator.size_bytes;
  budget.command_cycles = options.command_cycles;
  return budget;
}

}  // namespace

absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const StoragePlan& storage,
                                          const OnChipPlan& on_chip, const NpuConfig& config,
                                          const LowerOptions& options) {
  std::vector<ValuePlacement> placements(graph.values.size());
  TileBuilder builder(config, graph, placements);
  Place(PlaceValues(graph, storage, MakeResidentBuffers(storage, builder)), placements);
  const int64_t table_base_bytes = ConstantsEnd(storage);
  builder.SetTableBase(table_base_bytes);
  builder.SetCommandLimit(options.command_limit);
  SegmentTables tables(graph);
  const LoweringContext context{graph, storage, tables, placements, builder};
  std::vector<std::string> decisions(graph.nodes.size());
  for (const Segment& segment : on_chip.segments) {
    BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
    std::optional<BandPlan> bands = BandsOf(context, segment);
    const SegmentBudget budget = BudgetOf(context, segment, bands, options);
    BERTH_RETURN_IF_ERROR(LowerSegment(context, segment, std::move(bands), budget, decisions));
  }
  LoweredProgram lowered;
  for (size_t step = 0; step < graph.nodes.size(); ++step) {
    const Node& node = graph.nodes[step];
    const std::string home = HomeOfResult(node, storage);
    if (!home.empty()) decisions[step] += (decisions[step].empty() ? "" : ", ") + home;
    OpInfo info{node.name, KindName(node), decisions[step], 0, 0, 0};
    if (storage.nodes[step] == NodeStorage::kComputed) {
      info.min_dram_bytes = MinDramBytes(graph, node);
      info.mapped_cycles = MappedCycles(graph, node, config.matrix);
    }
    lowered.ops.push_back(std::move(info));
  }
  lowered.commands = std::move(builder.commands());
  lowered.buffers = std::move(builder.buffers());
  ConstantPacker packer(graph, storage, table_base_bytes, builder.table_bytes());
  for (Command& command : lowered.commands) {
    packer.Move(command.in0);
    packer.Move(command.in1);
    lowered.ops[command.op].macs += CommandMacs(command);
  }
  lowered.constant_bytes = packer.source_bytes();
  lowered.constants = std::make_shared<std::vector<std::byte>>(packer.TakeBytes());
  BERTH_RETURN_IF_ERROR(CheckBuffers(lowered));
  return lowered;
}

absl::StatusOr<SampledCommands> SampleSegment(const Graph& graph, const StoragePlan& storage,
                                              SegmentTables& tables, const Segment& segment,
                                              const NpuConfig& config,
                                              const LowerOptions& options) {
  std::vector<ValuePlacement> placements(graph.values.size());
  TileBuilder builder(config, graph, placements);
  Place(PlaceValues(graph, storage, MakeResidentBuffers(storage, builder)), placements);
  builder.SetCommandLimit(options.command_limit);
  const LoweringContext context{graph, storage, tables, placements, builder};
  SampledCommands sampled;
  std::optional<BandPlan> bands = BandsOf(context, segment);
  const SegmentBudget budget = BudgetOf(context, segment, bands, options);
  BERTH_ASSIGN_OR_RETURN(sampled.sample, LowerSample(context, segment, std::move(bands), budget));
  sampled.commands = std::move(builder.commands());
  sampled.buffers = std::move(builder.buffers());
  return sampled;
}

}  // namespace berth
