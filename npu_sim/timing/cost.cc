#include "npu_sim/timing/cost.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "npu_sim/access.h"
#include "npu_sim/timing.h"
#include "npu_sim/timing/matrix.h"
#include "npu_sim/timing/scratchpad.h"
#include "npu_sim/timing/vector.h"

namespace berth {
namespace timing {
namespace {

using Extents = std::array<int64_t, 4>;

// The range that loops of these extents span from the operand's first element.
Stream StreamOf(const Operand& o, const Extents& extent, int64_t moved_bytes) {
  Stream stream{o.offset_bytes, o.offset_bytes + DTypeBytes(o.dtype), moved_bytes};
  for (size_t d = 0; d < 4; ++d) {
    const int64_t reach = (extent[d] - 1) * o.stride_bytes[d];
    (reach < 0 ? stream.begin_bytes : stream.end_bytes) += reach;
  }
  return stream;
}

class Traffic {
 public:
  void Read(const Operand& o, const Extents& extent, int64_t bytes) {
    if (!Add(o, extent, bytes)) return;
    read_bytes_ += bytes;
  }
  void Write(const Operand& o, const Extents& extent, int64_t bytes) {
    if (!Add(o, extent, bytes)) return;
    write_bytes_ += bytes;
  }
  // A command takes the longer of its unit and its ports; the conflict is what the operands cost
  // each other by sharing a bank.
  void Limit(const ScratchpadConfig& config, CommandCost& cost) const {
    cost.scratchpad_read_bytes = read_bytes_;
    cost.scratchpad_write_bytes = write_bytes_;
    // All of it through one bank would not take longer: no need to look at the banks.
    const int64_t rate = config.port_bytes_per_cycle * config.ports_per_bank;
    if (read_bytes_ + write_bytes_ <= rate * cost.steady_cycles) return;
    const PortCycles ports = CyclesOfPorts({streams_.data(), count_}, config);
    const int64_t apart = std::max(cost.steady_cycles, ports.apart);
    cost.steady_cycles = std::max(cost.steady_cycles, ports.shared);
    cost.bank_conflict_cycles = cost.steady_cycles - apart;
  }

 private:
  bool Add(const Operand& o, const Extents& extent, int64_t bytes) {
    if (o.space != MemorySpace::kScratchpad || bytes == 0) return false;
    streams_[count_++] = StreamOf(o, extent, bytes);
    return true;
  }

  std::array<Stream, 8> streams_;
  size_t count_ = 0;
  int64_t read_bytes_ = 0, write_bytes_ = 0;
};

Extents LoopsOf(const Command& c) { return {c.extent[0], c.extent[1], c.extent[2], c.extent[3]}; }

// Of a window's input: the whole plane that the tile holds.
Extents PlaneOf(const Command& c, const Window& w) {
  return {w.input_height, w.input_width, c.extent[2], c.extent[3]};
}

int64_t Elements(const Command& c) {
  return int64_t{c.extent[0]} * c.extent[1] * c.extent[2] * c.extent[3];
}

// How often the loops in which the operand stands still repeat it.
int64_t Repeats(const Command& c, const Operand& o) {
  int64_t repeats = 1;
  for (int d = 0; d < 4; ++d) {
    if (o.stride_bytes[d] == 0) repeats *= c.extent[d];
  }
  return repeats;
}

// The access that lies in DRAM; the others are left out of the collection, which is most of its
// cost.
Access DramAccess(const Command& command) {
  Command far = command;
  for (Operand* operand : {&far.out, &far.in0, &far.in1}) {
    if (operand->space != MemorySpace::kDram) *operand = Operand{};
  }
  for (const Access& access : CollectAccesses(far)) {
    if (access.space == MemorySpace::kDram) return access;
  }
  return {};
}

// One row of a gather or scatter, as a plain transfer.
Command OneRow(const Command& command) {
  Command row = command;
  row.opcode = command.opcode == Opcode::kDmaGather ? Opcode::kDmaLoad : Opcode::kDmaStore;
  row.extent[0] = 1;
  row.in1 = Operand{};
  return row;
}

}  // namespace

CommandCost CostModel::MatrixCommand(const Command& c) const {
  const MatrixCost matrix = CostOfMatrix(c, config_.matrix);
  CommandCost cost;
  cost.lead_cycles = matrix.cycles.lead;
  cost.steady_cycles = matrix.cycles.steady;
  cost.drain_cycles = matrix.cycles.drain;
  cost.macs = matrix.macs;
  cost.rate_divisor = matrix.rate_divisor;
  cost.accumulator_bytes = matrix.accumulator_bytes;
  const Window& w = c.params.matrix.window;
  const bool gemm = c.opcode == Opcode::kGemm;
  const Extents loops = LoopsOf(c);
  Traffic traffic;
  traffic.Read(c.in0, gemm ? loops : PlaneOf(c, w), matrix.in0_bytes);
  traffic.Read(c.in1, gemm ? loops : Extents{w.kernel_height, w.kernel_width, loops[2], loops[3]},
               matrix.in1_bytes);
  traffic.Read(c.in2, loops, matrix.in2_bytes);
  traffic.Write(c.out, loops, matrix.out_bytes);
  traffic.Limit(config_.scratchpad, cost);
  return cost;
}

CommandCost CostModel::VectorCommand(const Command& c) const {
  const VectorCost vector = CostOfVector(c, config_.vector);
  CommandCost cost;
  cost.steady_cycles = vector.cycles;
  cost.vector_elements = vector.elements;
  const Extents loops = LoopsOf(c);
  Extents in0_loops = loops;
  if (c.opcode == Opcode::kPool) in0_loops = PlaneOf(c, c.params.vector.window);
  if (c.opcode == Opcode::kInterpolate) in0_loops[1] = c.params.vector.window.input_height;
  Traffic traffic;
  traffic.Read(c.in0, in0_loops, vector.in0_bytes);
  traffic.Read(c.in1, loops, vector.in1_bytes);
  traffic.Read(c.in2, loops, vector.in2_bytes);
  traffic.Read(c.out, loops, vector.out_read_bytes);
  traffic.Write(c.out, loops, vector.out_bytes);
  traffic.Limit(config_.scratchpad, cost);
  return cost;
}

CommandCost CostModel::DmaCommand(const Command& c) const {
  CommandCost cost;
  cost.setup_cycles = config_.dma.setup_cycles;
  const int64_t bytes = Elements(c) * DTypeBytes(c.out.dtype);
  const Extents loops = LoopsOf(c);
  Traffic traffic;
  if (c.opcode != Opcode::kDmaFill) traffic.Read(c.in0, loops, bytes);
  traffic.Read(c.in1, {loops[0], 1, 1, 1}, loops[0] * DTypeBytes(c.in1.dtype));
  traffic.Write(c.out, loops, bytes);
  traffic.Limit(config_.scratchpad, cost);
  const Operand& far = c.out.space == MemorySpace::kDram ? c.out : c.in0;
  cost.uses_dram = far.space == MemorySpace::kDram;
  if (!cost.uses_dram) return cost;
  if (c.opcode == Opcode::kDmaGather || c.opcode == Opcode::kDmaScatter) {
    cost.dram = dram_.ScatteredRows(DramAccess(OneRow(c)), c.extent[0]);
  } else {
    cost.dram = dram_.Transfer(DramAccess(c), Repeats(c, far));
  }
  return cost;
}

CommandCost CostModel::HostCommand(const Command& c) const {
  CommandCost cost;
  for (const Access& access : CollectAccesses(c)) cost.host_bytes += access.total_bytes();
  cost.steady_cycles = config_.host.startup_cycles +
                       CeilDiv(cost.host_bytes * 1000, config_.host.millibytes_per_cycle);
  return cost;
}

CommandCost CostModel::Cost(const Command& command) const {
  switch (EngineOf(command.opcode)) {
    case EngineKind::kMatrix:
      return MatrixCommand(command);
    case EngineKind::kVector:
      return VectorCommand(command);
    case EngineKind::kDma:
      return DmaCommand(command);
    case EngineKind::kHost:
      break;
  }
  return HostCommand(command);
}

}  // namespace timing

int64_t PeakDramCycles(int64_t bytes, const DramConfig& dram) {
  return CeilDiv(bytes * 1000, std::max<int64_t>(dram.peak_millibytes_per_cycle, 1));
}

int64_t CommandCycles(const Command& command, const NpuConfig& config) {
  return timing::CostModel(config).Cost(command).total_cycles();
}

int64_t ComputeCycles(const Command& command, const NpuConfig& config) {
  switch (EngineOf(command.opcode)) {
    case EngineKind::kMatrix: {
      const timing::ArrayCycles cycles = timing::CostOfMatrix(command, config.matrix).cycles;
      return cycles.lead + cycles.steady + cycles.drain;
    }
    case EngineKind::kVector:
      return timing::CostOfVector(command, config.vector).cycles;
    default:
      return CommandCycles(command, config);
  }
}

int64_t CommandMacs(const Command& command) {
  if (EngineOf(command.opcode) != EngineKind::kMatrix) return 0;
  const timing::MatrixShape shape = timing::ShapeOf(command);
  return shape.macs();
}

}  // namespace berth
