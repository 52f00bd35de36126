// TileBuilder: where a lowering writes its commands. Scratchpad and accumulator addresses are still
// virtual (an operand's `slot` is a buffer number and its offset counts from the buffer's start);
// DRAM addresses are final, from the placement of each value. The planner (or the dynamic executor)
// then orders loads, gives buffers their places and derives every wait.
//
// Lowerings say what they need ("this box of that value") and never where it lives: Load returns a
// view of a fresh buffer filled by DMA, or, for a value resident in scratchpad, a view of it.
//
// Errors are sticky: after the first, calls do nothing and status() tells it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "kernels/graph.h"
#include "kernels/read_scale.h"
#include "npu_sim/command.h"
#include "npu_sim/config.h"

namespace berth {

using Extents = absl::InlinedVector<int64_t, 6>;

// A box in the index space of a value: along each axis the elements begin, begin + step, ...,
// `extent` of them. Without `step` every step is 1; a step may be negative, or 0 to repeat.
struct Box {
  Extents begin;
  Extents extent;
  Extents step = {};
  int64_t ElementCount() const;
  friend bool operator==(const Box&, const Box&) = default;
};
Box WholeBox(const Shape& shape);

// A strided view of a buffer (or, resident, of a value) in scratchpad.
struct TileView {
  uint32_t buffer = kNoSlot;
  int64_t offset_bytes = 0;
  Extents extent;
  Extents stride_bytes;
  DType dtype = DType::kUndefined;
  MemorySpace space = MemorySpace::kScratchpad;

  int rank() const { return static_cast<int>(extent.size()); }
  int64_t ElementCount() const;
  // The sub-box at `begin` of `extent`.
  TileView Sub(const Extents& begin, const Extents& sub_extent) const;
  // Axes reordered: axis i of the result is axis order[i].
  TileView Permuted(const Extents& order) const;
  // Same elements under another shape; the view must be dense.
  TileView Reshaped(const Extents& new_extent) const;
  bool IsDense() const;
  // Stride 0 on axes of extent 1 that `target` has longer, missing leading axes added (NumPy rule).
  TileView BroadcastTo(const Extents& target) const;
};

struct ValuePlacement;
// Whether output 0 of `node` stands in scratchpad in bytes that none of its operands has, so that
// they may be written while the operands are still read. False where an operand dies into it.
bool HasOwnResidentOutput(const Node& node, absl::Span<const ValuePlacement> placements);

// Where a value lives while the program runs.
struct ValuePlacement {
  MemorySpace space = MemorySpace::kNone;  // kDram, or kScratchpad when resident
  uint16_t region = 0;                     // DRAM
  uint32_t slot = kNoSlot;                 // pool slot, or the virtual buffer when resident
  int64_t offset_bytes = 0;                // of element 0
  Extents stride_bytes;                    // per axis of the value's shape
};

struct VirtualBuffer {
  MemorySpace space = MemorySpace::kScratchpad;  // or kAccumulator
  int64_t size_bytes = 0;
  int64_t alignment_bytes = 64;
  uint32_t op = 0;   // whose it is
  std::string role;  // "input", "weights", "output", ...: one ping-pong family per op+role
};

class TileBuilder {
 public:
  TileBuilder(const NpuConfig& config, const Graph& graph,
              absl::Span<const ValuePlacement> placements);

  const NpuConfig& config() const { return config_; }
  const Graph& graph() const { return graph_; }
  absl::Status status() const { return status_; }
  void Fail(absl::Status status);
  // Commands and buffers from now on belong to op `op` of the bundle's table. What an op holds
  // (LoadHeld) it finds again when the builder comes back to it, until ForgetHeld.
  void SetOp(uint32_t op) { op_ = op; }
  void ForgetHeld() { held_.clear(); }
  // A fresh buffer that several ops use.
  uint32_t NewBuffer(MemorySpace space, int64_t size_bytes, std::string_view role);
  // Loads of `node`'s inputs from now on give what the node reads: operands with a read scale come
  // as float32 tiles. Its output 0 is what OutputTile is asked for.
  void SetReads(const Node& node);
  // ResourceExhausted for the command after `count`: tiles that small make programs too long to be
  // of use.
  void SetCommandLimit(size_t count) { command_limit_ = count; }

  // A fresh dense scratchpad tile (row-major, 64-byte aligned).
  TileView NewTile(DType dtype, const Extents& extent, std::string_view role);
  // A fresh dense accumulator tile of 4-byte words (dtype kFloat32 or kInt32).
  TileView NewAccumulator(DType dtype, const Extents& extent);

  // The box of `value` in scratchpad, rank as the value's. Dense when loaded; strided when
  // resident.
  TileView Load(ValueId value, const Box& box, std::string_view role);
  // The dtype of the tiles that Load makes.
  DType LoadedDType(ValueId value) const;
  // As Load, but if the last LoadHeld of this value by this op was of the same box, that view: for
  // operands that stay while the tiles move (weights, broadcast operands). Never write into it.
  TileView LoadHeld(ValueId value, const Box& box, std::string_view role);
  // The same for an operand of a tail, which has its own read scale or none.
  TileView LoadHeldAs(ValueId value, const Box& box, std::string_view role,
                      const std::optional<ReadScale>& scale);
  bool IsResident(ValueId value) const;
  // Both resident, in one buffer.
  bool ShareBuffer(ValueId a, ValueId b) const;
  // Both resident, each element where the other's is.
  bool StandInOnePlace(ValueId a, ValueId b) const;
  // Where to compute `box` of output 0, `value`: a view of it where it is resident, of this dtype
  // and not in the bytes of an operand (a Store of that view does nothing), otherwise a fresh tile.
  TileView OutputTile(ValueId value, DType dtype, const Box& box, std::string_view role);
  // The view of a resident value; to be written only behind the last read of its bytes.
  TileView ResidentView(ValueId value, const Box& box) { return PlacedView(value, box); }
  // As Load into an existing tile (extent equal to the box's): to assemble a tile from pieces.
  void LoadInto(ValueId value, const Box& box, const TileView& tile);
  void Store(ValueId value, const Box& box, const TileView& tile);
  // A table made at compile time (indices, weights, scales); equal tensors are stored once.
  TileView LoadTable(const Tensor& table, std::string_view role);
  // Every element of the tile = pattern (one element in the low bytes).
  void Fill(const TileView& tile, uint64_t pattern);
  void FillFloat(const TileView& tile, float value);  // converted to tile.dtype
  // Slices `indices` (1-D view, int32/int64) of `value` along `axis`; the box of the other axes is
  // `slice`, which has extent 1 there. The tile has as many elements along `axis` as there are
  // indices. The value must stand in DRAM.
  TileView GatherSlices(ValueId value, int axis, const TileView& indices, const Box& slice,
                        std::string_view role);

  // The whole of a value, dense in DRAM, as the operand of a host call.
  Operand HostOperand(ValueId value);

  // N-d elementwise commands: views are collapsed to four loops, several commands where more are
  // needed. Operands must have the extents of `out` (use BroadcastTo).
  void Unary(UnaryFunction function, const TileView& out, const TileView& in, float alpha = 0,
             float beta = 0);
  void Binary(BinaryFunction function, const TileView& out, const TileView& a, const TileView& b,
              float alpha = 0);
  void Select(const TileView& out, const TileView& condition, const TileView& a, const TileView& b);
  void Copy(const TileView& out, const TileView& in);
  void Cast(const TileView& out, const TileView& in);
  // kRequantize, kQuantize, kDequantize: by one scale, or by float32 `scales` with the extents of
  // `out`.
  void Rescale(Opcode opcode, const TileView& out, const TileView& in, float scale,
               int32_t zero_point);
  void RescaleBy(Opcode opcode, const TileView& out, const TileView& in, const TileView& scales,
                 int32_t zero_point);
  // Reduces the axes that `out` has with extent 1 where `in` is longer (same rank). With
  // `accumulate`, continues from what `out` holds; `finish_scale` multiplies at the end.
  void Reduce(ReduceFunction function, const TileView& out, const TileView& in,
              bool accumulate = false, float finish_scale = 1.0f);
  // int64 positions of the extremum along `axis`, which `out` has with extent 1 (same rank).
  void ArgReduce(ReduceFunction function, const TileView& out, const TileView& in, int axis,
                 bool select_last);
  // Along `axis`, whole in the tile; in place is allowed.
  void Softmax(const TileView& out, const TileView& in, int axis, bool is_log);

  // Element `indices[p]` of `in` along `axis` becomes element p of `out`; indices are a 1-D view of
  // int32 and must be within the axis when the command runs.
  void Pick(const TileView& out, const TileView& in, const TileView& indices, int axis);

  // A command of exactly four loops: for matrix, pool, softmax, interpolate. Operands come from
  // Operand4; engine, op and order are filled in here.
  void Emit(Command command);
  // The view as an operand whose four loops are the axes `axes` (-1: stride 0).
  static Operand Operand4(const TileView& view, std::array<int, 4> axes);

  // Results, for the planner.
  std::vector<Command>& commands() { return commands_; }
  std::vector<VirtualBuffer>& buffers() { return buffers_; }
  // Bytes appended to the constants region, beginning at table_base_bytes().
  const std::vector<std::byte>& table_bytes() const { return table_bytes_; }
  // The region is the constants', the first of a program.
  void SetTableBase(int64_t offset_bytes) { table_base_bytes_ = offset_bytes; }

 private:
  using Pieces = absl::InlinedVector<TileView, 4>;  // views of rank 4 walked together

  // Calls emit(pieces) for every piece of at most `loops` loops (the last of the four) of the
  // views, which have the same extents.
  template <typename EmitPiece>
  void ForEachPiece(Pieces views, EmitPiece&& emit, int loops = 4);
  std::optional<ReadScale> ReadScaleOfInput(ValueId value) const;
  // The box as it is stored: loaded, or where it is resident.
  TileView LoadStored(ValueId value, const Box& box, std::string_view role);
  TileView LoadAs(ValueId value, const Box& box, std::string_view role,
                  const std::optional<ReadScale>& scale);
  void Dequantize(const TileView& out, const TileView& in, const ReadScale& scale);
  // A box of a value where it is placed; DRAM views keep region and slot in the placement.
  TileView PlacedView(ValueId value, const Box& box);
  void DmaPieces(Opcode opcode, ValueId value, const TileView& placed, const TileView& tile);
  void Move(Opcode opcode, const TileView& out, const TileView& in);
  void AlongAxis(Command command, const TileView& out, const TileView& in, int axis);
  void ReducePieces(Command command, Pieces views, bool accumulate, float finish_scale);

  const NpuConfig& config_;
  const Graph& graph_;
  absl::Span<const ValuePlacement> placements_;
  std::vector<Command> commands_;
  std::vector<VirtualBuffer> buffers_;
  std::vector<std::byte> table_bytes_;
  std::map<std::string, int64_t> table_offsets_;  // content -> offset in table_bytes_
  struct HeldTile {
    Box box;
    std::optional<ReadScale> scale;  // with which the tile was read
    TileView tile;
  };
  std::map<std::pair<uint32_t, ValueId>, HeldTile> held_;  // by op
  bool owns_output_ = false;            // the current op's output has bytes that no operand has
  std::map<ValueId, ReadScale> reads_;  // of the current op's inputs
  int64_t table_base_bytes_ = 0;
  uint32_t op_ = 0;
  size_t command_limit_ = std::numeric_limits<size_t>::max();
  absl::Status status_;
};

}  // namespace berth
