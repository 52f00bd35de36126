// Buffers, commands and where values are placed. The DMA half stands in tile_builder_dma.cc, the
// vector half in tile_builder_vector.cc.
#include "kernels/tile_builder.h"

#include <algorithm>

namespace berth {

TileBuilder::TileBuilder(const NpuConfig& config, const Graph& graph,
                         absl::Span<const ValuePlacement> placements)
    : config_(config), graph_(graph), placements_(placements) {}

bool HasOwnResidentOutput(const Node& node, absl::Span<const ValuePlacement> placements) {
  if (node.outputs.empty() || node.outputs[0] == ValueId::kNone) return false;
  const ValuePlacement& out = placements[Index(node.outputs[0])];
  if (out.space != MemorySpace::kScratchpad) return false;
  const std::vector<ValueId> reads = ReadValues(node);
  return std::none_of(reads.begin(), reads.end(), [&](ValueId id) {
    const ValuePlacement& read = placements[Index(id)];
    return read.space == MemorySpace::kScratchpad && read.slot == out.slot;
  });
}

void TileBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

uint32_t TileBuilder::NewBuffer(MemorySpace space, int64_t size_bytes, std::string_view role) {
  VirtualBuffer buffer;
  buffer.space = space;
  buffer.size_bytes = size_bytes;
  buffer.op = op_;
  buffer.role = role;
  buffers_.push_back(std::move(buffer));
  return static_cast<uint32_t>(buffers_.size() - 1);
}

TileView TileBuilder::NewTile(DType dtype, const Extents& extent, std::string_view role) {
  TileView tile;
  tile.dtype = dtype;
  tile = tile.Reshaped(extent);
  if (status_.ok()) {
    tile.buffer =
        NewBuffer(MemorySpace::kScratchpad, tile.ElementCount() * DTypeBytes(dtype), role);
  }
  return tile;
}

TileView TileBuilder::NewAccumulator(DType dtype, const Extents& extent) {
  TileView tile;
  tile.dtype = dtype;
  tile.space = MemorySpace::kAccumulator;
  tile = tile.Reshaped(extent);
  if (status_.ok()) {
    tile.buffer = NewBuffer(MemorySpace::kAccumulator, tile.ElementCount() * 4, "accumulator");
  }
  return tile;
}

bool TileBuilder::IsResident(ValueId value) const {
  return placements_[Index(value)].space == MemorySpace::kScratchpad;
}

bool TileBuilder::ShareBuffer(ValueId a, ValueId b) const {
  return IsResident(a) && IsResident(b) && placements_[Index(a)].slot == placements_[Index(b)].slot;
}

bool TileBuilder::StandInOnePlace(ValueId a, ValueId b) const {
  if (a == ValueId::kNone || b == ValueId::kNone || !ShareBuffer(a, b)) return false;
  const ValuePlacement& first = placements_[Index(a)];
  const ValuePlacement& second = placements_[Index(b)];
  return first.offset_bytes == second.offset_bytes && first.stride_bytes == second.stride_bytes;
}

TileView TileBuilder::PlacedView(ValueId value, const Box& box) {
  const ValuePlacement& placement = placements_[Index(value)];
  TileView view;
  view.buffer = placement.slot;
  view.space = placement.space;
  view.dtype = graph_.at(value).type.dtype;
  view.offset_bytes = placement.offset_bytes;
  view.stride_bytes = placement.stride_bytes;
  view.extent = box.extent;
  if (placement.space == MemorySpace::kNone || view.stride_bytes.size() != box.extent.size() ||
      box.begin.size() != box.extent.size()) {
    Fail(Internal("'{}' has no place in memory for a box of rank {}", graph_.at(value).name,
                  box.extent.size()));
    view.stride_bytes.assign(box.extent.size(), 0);
    return view;
  }
  for (size_t axis = 0; axis < box.begin.size(); ++axis) {
    view.offset_bytes += box.begin[axis] * view.stride_bytes[axis];
    if (!box.step.empty()) view.stride_bytes[axis] *= box.step[axis];
  }
  return view;
}

TileView TileBuilder::OutputTile(ValueId value, DType dtype, const Box& box,
                                 std::string_view role) {
  if (owns_output_ && IsResident(value) && graph_.at(value).type.dtype == dtype) {
    return PlacedView(value, box);
  }
  return NewTile(dtype, box.extent, role);
}

void TileBuilder::Emit(Command command) {
  if (!status_.ok()) return;
  if (commands_.size() >= command_limit_) {
    return Fail(ResourceExhausted("tiles this small take more than {} commands", command_limit_));
  }
  command.op = op_;
  // Channels are chosen later; the order of a core's engines is that of CoreEngines.
  const auto channels = static_cast<uint8_t>(config_.dma.channels);
  switch (EngineOf(command.opcode)) {
    case EngineKind::kDma:
      command.engine = 0;
      break;
    case EngineKind::kMatrix:
      command.engine = channels;
      break;
    case EngineKind::kVector:
      command.engine = static_cast<uint8_t>(channels + 1);
      break;
    case EngineKind::kHost:
      command.engine = static_cast<uint8_t>(channels + 2);
      break;
  }
  commands_.push_back(command);
}

Operand TileBuilder::Operand4(const TileView& view, std::array<int, 4> axes) {
  Operand operand;
  operand.offset_bytes = view.offset_bytes;
  operand.slot = view.buffer;
  operand.space = view.space;
  operand.dtype = view.dtype;
  for (size_t loop = 0; loop < 4; ++loop) {
    if (axes[loop] < 0) continue;
    operand.stride_bytes[loop] =
        static_cast<int32_t>(view.stride_bytes[static_cast<size_t>(axes[loop])]);
  }
  return operand;
}

}  // namespace berth
