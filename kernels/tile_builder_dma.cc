#include <cstring>

#include "base/checked_math.h"
#include "kernels/tile_pieces.h"

namespace berth {
namespace {

constexpr uint16_t kTableRegion = 0;  // the constants are a program's first region
constexpr int64_t kTableAlignmentBytes = 64;

uint64_t PatternOf(DType dtype, float value) {
  uint64_t pattern = 0;
  VisitDType(dtype, [&]<typename T>() {
    const T element = static_cast<T>(value);
    std::memcpy(&pattern, &element, sizeof(T));
  });
  return pattern;
}

}  // namespace

void TileBuilder::DmaPieces(Opcode opcode, ValueId value, const TileView& placed,
                            const TileView& tile) {
  const bool is_load = opcode == Opcode::kDmaLoad;
  ForEachPiece({placed, tile}, [&](const Pieces& pieces) {
    Command command;
    command.opcode = opcode;
    SetExtents(command, pieces[0]);
    Operand dram = Operand4(pieces[0], kAllLoops);
    dram.region = placements_[Index(value)].region;
    const Operand scratchpad = Operand4(pieces[1], kAllLoops);
    command.in0 = is_load ? dram : scratchpad;
    command.out = is_load ? scratchpad : dram;
    command.params.dma = {};
    Emit(command);
  });
}

void TileBuilder::SetReads(const Node& node) {
  reads_.clear();
  owns_output_ = HasOwnResidentOutput(node, placements_);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (const auto scale = ReadScaleOf(node.attributes, i)) reads_[node.inputs[i]] = *scale;
  }
}

std::optional<ReadScale> TileBuilder::ReadScaleOfInput(ValueId value) const {
  const auto found = reads_.find(value);
  return found == reads_.end() ? std::nullopt : std::optional(found->second);
}

DType TileBuilder::LoadedDType(ValueId value) const {
  return reads_.count(value) > 0 ? DType::kFloat32 : graph_.at(value).type.dtype;
}

void TileBuilder::Dequantize(const TileView& out, const TileView& in, const ReadScale& scale) {
  Rescale(Opcode::kDequantize, out, in, scale.scale, scale.zero_point);
}

TileView TileBuilder::LoadStored(ValueId value, const Box& box, std::string_view role) {
  const TileView placed = PlacedView(value, box);
  if (IsResident(value)) return placed;
  const TileView tile = NewTile(graph_.at(value).type.dtype, box.extent, role);
  DmaPieces(Opcode::kDmaLoad, value, placed, tile);
  return tile;
}

TileView TileBuilder::LoadAs(ValueId value, const Box& box, std::string_view role,
                             const std::optional<ReadScale>& scale) {
  if (!scale) return LoadStored(value, box, role);
  const TileView stored = LoadStored(value, box, fmt::format("stored {}", role));
  const TileView tile = NewTile(DType::kFloat32, box.extent, role);
  Dequantize(tile, stored, *scale);
  return tile;
}

TileView TileBuilder::Load(ValueId value, const Box& box, std::string_view role) {
  return LoadAs(value, box, role, ReadScaleOfInput(value));
}

TileView TileBuilder::LoadHeld(ValueId value, const Box& box, std::string_view role) {
  return LoadHeldAs(value, box, role, ReadScaleOfInput(value));
}

TileView TileBuilder::LoadHeldAs(ValueId value, const Box& box, std::string_view role,
                                 const std::optional<ReadScale>& scale) {
  if (IsResident(value) && !scale) return LoadStored(value, box, role);
  const auto found = held_.find({op_, value});
  if (found != held_.end() && found->second.box == box && found->second.scale == scale) {
    return found->second.tile;
  }
  const TileView tile = LoadAs(value, box, role, scale);
  held_[{op_, value}] = {box, scale, tile};
  return tile;
}

void TileBuilder::LoadInto(ValueId value, const Box& box, const TileView& tile) {
  if (const auto scale = ReadScaleOfInput(value)) {
    return Dequantize(tile, LoadStored(value, box, "stored part"), *scale);
  }
  const TileView placed = PlacedView(value, box);
  if (IsResident(value)) {
    Copy(tile, placed);
  } else {
    DmaPieces(Opcode::kDmaLoad, value, placed, tile);
  }
}

void TileBuilder::Store(ValueId value, const Box& box, const TileView& tile) {
  const TileView placed = PlacedView(value, box);
  if (IsResident(value)) {
    Copy(placed, tile);
  } else {
    DmaPieces(Opcode::kDmaStore, value, placed, tile);
  }
}

TileView TileBuilder::LoadTable(const Tensor& table, std::string_view role) {
  const Box box = WholeBox(table.shape());
  const TileView tile = NewTile(table.dtype(), box.extent, role);
  const auto bytes = table.bytes();
  std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto [found, is_new] = table_offsets_.try_emplace(std::move(content), 0);
  if (is_new) {
    found->second = AlignUp(static_cast<int64_t>(table_bytes_.size()), kTableAlignmentBytes);
    table_bytes_.resize(static_cast<size_t>(found->second));
    table_bytes_.insert(table_bytes_.end(), bytes.begin(), bytes.end());
  }
  TileView placed = tile;  // dense as well
  placed.space = MemorySpace::kDram;
  placed.buffer = kNoSlot;
  placed.offset_bytes = table_base_bytes_ + found->second;
  ForEachPiece({placed, tile}, [&](const Pieces& pieces) {
    Command command;
    command.opcode = Opcode::kDmaLoad;
    SetExtents(command, pieces[0]);
    command.in0 = Operand4(pieces[0], kAllLoops);
    command.in0.region = kTableRegion;
    command.out = Operand4(pieces[1], kAllLoops);
    command.params.dma = {};
    Emit(command);
  });
  return tile;
}

void TileBuilder::Fill(const TileView& tile, uint64_t pattern) {
  ForEachPiece({tile}, [&](const Pieces& pieces) {
    Command command;
    command.opcode = Opcode::kDmaFill;
    SetExtents(command, pieces[0]);
    command.out = Operand4(pieces[0], kAllLoops);
    command.params.dma = {};
    command.params.dma.pattern = pattern;
    Emit(command);
  });
}

void TileBuilder::FillFloat(const TileView& tile, float value) {
  Fill(tile, PatternOf(tile.dtype, value));
}

TileView TileBuilder::GatherSlices(ValueId value, int axis, const TileView& indices,
                                   const Box& slice, std::string_view role) {
  const auto at = static_cast<size_t>(axis);
  Extents extent = slice.extent;
  extent[at] = indices.ElementCount();
  const TileView tile = NewTile(graph_.at(value).type.dtype, extent, role);
  if (reads_.count(value) > 0) {
    Fail(Internal("'{}': slices are gathered as they are stored", graph_.at(value).name));
    return tile;
  }
  if (IsResident(value)) {
    Fail(Unimplemented("'{}' is resident: slices are gathered from DRAM only",
                       graph_.at(value).name));
    return tile;
  }
  // One slice of the value and of the tile; the loop over slices stands in front of every piece.
  const TileView placed = PlacedView(value, slice);
  const int64_t pitch = placed.stride_bytes[at], tile_pitch = tile.stride_bytes[at];
  if (pitch != static_cast<int32_t>(pitch)) {
    Fail(ResourceExhausted("'{}': slices {} bytes apart, a command reaches 2^31 - 1",
                           graph_.at(value).name, pitch));
  }
  const auto emit = [&](const Pieces& pieces) {
    Command command;
    command.opcode = Opcode::kDmaGather;
    SetExtents(command, pieces[0]);
    command.extent[0] = static_cast<int32_t>(indices.ElementCount());
    command.in0 = Operand4(pieces[0], kAllLoops);
    command.in0.region = placements_[Index(value)].region;
    command.in0.stride_bytes[0] = static_cast<int32_t>(pitch);
    command.out = Operand4(pieces[1], kAllLoops);
    command.out.stride_bytes[0] = static_cast<int32_t>(tile_pitch);
    command.in1 = Operand4(indices, {0, -1, -1, -1});
    command.params.dma = {};
    command.params.dma.row_limit = graph_.at(value).type.shape[axis];
    Emit(command);
  };
  if (extent[at] > 0) {
    ForEachPiece({SliceAt(placed, axis, 0), SliceAt(tile, axis, 0)}, emit, kCommandLoops - 1);
  }
  return tile;
}

Operand TileBuilder::HostOperand(ValueId value) {
  const Value& described = graph_.at(value);
  const TileView placed = PlacedView(value, WholeBox(described.type.shape));
  if (IsResident(value) || !placed.IsDense() || reads_.count(value) > 0) {
    Fail(Unimplemented("'{}' is not dense in DRAM as it is read, which the host engine needs",
                       described.name));
  }
  Operand operand = Operand4(placed, {-1, -1, -1, -1});
  operand.region = placements_[Index(value)].region;
  operand.stride_bytes[0] = static_cast<int32_t>(described.type.ByteCount());
  if (operand.stride_bytes[0] != described.type.ByteCount()) {
    Fail(ResourceExhausted("'{}': {} bytes, a host call reaches 2^31 - 1", described.name,
                           described.type.ByteCount()));
  }
  return operand;
}

}  // namespace berth
