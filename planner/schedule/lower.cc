#include "planner/schedule/lower.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

std::vector<ValuePlacement> PlaceValues(const Graph& graph, const StoragePlan& storage) {
  std::vector<ValuePlacement> placements(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const StoragePlace& place = storage.places[i];
    if (place.buffer < 0) continue;
    const StorageBuffer& buffer = storage.buffers[static_cast<size_t>(place.buffer)];
    ValuePlacement& placement = placements[i];
    placement.space = MemorySpace::kDram;
    placement.offset_bytes = buffer.offset_bytes + place.offset_bytes;
    placement.stride_bytes = place.stride_bytes;
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

absl::Status LowerNode(const Graph& graph, const Node& node, const LowerOptions& options,
                       TileBuilder& builder, OpInfo& info) {
  const OpDef& op = GetOpDef(node.kind);
  if (op.lower == nullptr) {
    return Unimplemented("{} '{}': no unit of the machine executes it", OpName(node.kind),
                         node.name);
  }
  const auto empty = [&](ValueId id) {
    return id == ValueId::kNone || graph.at(id).type.shape.ElementCount() == 0;
  };
  if (std::all_of(node.outputs.begin(), node.outputs.end(), empty)) {
    info.decision = "no elements";
    return absl::OkStatus();
  }
  const NodeCall call(graph, node);
  absl::StatusOr<TileShape> tile = DefaultTile(op, call.call(), options.scratchpad_budget_bytes,
                                               options.accumulator_budget_bytes);
  if (absl::IsResourceExhausted(tile.status())) {
    tile = DefaultTile(op, call.call(), options.scratchpad_limit_bytes,
                       options.accumulator_limit_bytes);
  }
  const std::string where = fmt::format("{} '{}'", OpName(node.kind), node.name);
  if (!tile.ok()) return Annotate(tile.status(), where);
  info.decision = fmt::format("tile {}", fmt::join(*tile, "x"));
  builder.SetReads(node);
  BERTH_RETURN_IF_ERROR(Annotate(op.lower(call.call(), *tile, builder), where));
  return Annotate(builder.status(), where);
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

 private:
  int64_t Take(int64_t provisional_offset, absl::Span<const std::byte> source) {
    const auto [found, inserted] = moved_.try_emplace(provisional_offset, 0);
    if (inserted) {
      found->second = AlignUp(static_cast<int64_t>(bytes_.size()), 64);
      bytes_.resize(static_cast<size_t>(found->second) + source.size());
      std::memcpy(bytes_.data() + found->second, source.data(), source.size());
    }
    return found->second;
  }

  int64_t table_base_bytes_;
  const std::vector<std::byte>& tables_;
  std::map<int64_t, const Tensor*> sources_;  // by provisional offset
  std::map<int64_t, int64_t> moved_;          // provisional -> final offset
  std::vector<std::byte> bytes_;
};

int64_t ConstantsEnd(const StoragePlan& storage) {
  int64_t end_bytes = 0;
  for (const StorageBuffer& buffer : storage.buffers) {
    if (buffer.kind != RegionKind::kConstants) continue;
    end_bytes = std::max(end_bytes, buffer.offset_bytes + buffer.size_bytes);
  }
  return AlignUp(end_bytes, 64);
}

}  // namespace

absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const StoragePlan& storage,
                                          const NpuConfig& config, const LowerOptions& options) {
  const std::vector<ValuePlacement> placements = PlaceValues(graph, storage);
  TileBuilder builder(config, graph, placements);
  const int64_t table_base_bytes = ConstantsEnd(storage);
  builder.SetTableBase(table_base_bytes);
  builder.SetCommandLimit(options.command_limit);
  LoweredProgram lowered;
  for (size_t step = 0; step < graph.nodes.size(); ++step) {
    const Node& node = graph.nodes[step];
    OpInfo info{node.name, KindName(node), "view", 0, 0};
    builder.SetOp(static_cast<uint32_t>(step));
    if (storage.nodes[step] == NodeStorage::kComputed) {
      BERTH_RETURN_IF_ERROR(LowerNode(graph, node, options, builder, info));
      info.min_dram_bytes = MinDramBytes(graph, node);
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
  lowered.constants = packer.TakeBytes();
  return lowered;
}

}  // namespace berth
