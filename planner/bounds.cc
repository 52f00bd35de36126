#include "planner/bounds.h"

#include <algorithm>

#include "base/checked_math.h"
#include "kernels/ops/convolution.h"
#include "kernels/ops/matmul.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

// By the wider operand.
int64_t DtypesDivisor(const OpCall& call, const MatrixConfig& matrix) {
  return std::max(RateDivisor(call.input(0).dtype, matrix),
                  RateDivisor(call.input(1).dtype, matrix));
}

// One product of M x K by K x N, `count` times, that nothing else shares the array with.
struct WholeProduct {
  int64_t count = 1, m = 1, n = 1, k = 1;
  int64_t macs() const { return count * m * n * k; }
};

int64_t FoldedCycles(const WholeProduct& product, int64_t rate_divisor,
                     const MatrixConfig& matrix) {
  const bool holds_weights = matrix.dataflow == Dataflow::kWeightStationary;
  const int64_t folds = product.count * CeilDiv(product.n, matrix.columns) *
                        CeilDiv(holds_weights ? product.k : product.m, matrix.rows);
  const int64_t steps = holds_weights ? product.m : product.k;
  return folds * steps * CyclesPerStep(rate_divisor, matrix);
}

int64_t ConvolutionCycles(const OpCall& call, int64_t rate_divisor, const MatrixConfig& matrix) {
  const Convolution conv = ResolveConvolution(call);
  WholeProduct product;
  product.count = conv.groups;
  product.m = conv.batch;
  product.n = conv.group_outputs();
  product.k = conv.group_inputs();
  for (const AxisWindow& axis : conv.axes) {
    product.m *= conv.transposed ? axis.input : axis.output;
    product.k *= axis.kernel;
  }
  if (conv.depthwise()) {
    return CeilDiv(product.macs() * rate_divisor, matrix.depthwise_int8_macs_per_cycle);
  }
  if (conv.transposed) return 0;  // by phases: counted at the full rate
  return FoldedCycles(product, rate_divisor, matrix);
}

int64_t ProductCycles(const OpCall& call, int64_t rate_divisor, const MatrixConfig& matrix) {
  const absl::StatusOr<MatrixProduct> resolved = ResolveMatMul(call);
  if (!resolved.ok() || !RunsOnMatrixUnit(call)) return 0;
  WholeProduct product;
  int64_t batch = 1;
  for (const int64_t extent : resolved->batch) batch *= extent;
  product.count = resolved->shares_b() ? 1 : batch;
  product.m = resolved->rows * (resolved->shares_b() ? batch : 1);
  product.n = resolved->columns;
  product.k = resolved->inner;
  return FoldedCycles(product, rate_divisor, matrix);
}

}  // namespace

int64_t MappedCycles(const Graph& graph, const Node& node, const MatrixConfig& matrix) {
  const NodeCall node_call(graph, node);
  const OpCall& call = node_call.call();
  if (call.outputs.empty() || call.output().shape.ElementCount() == 0) return 0;
  switch (node.kind) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
      return ConvolutionCycles(call, DtypesDivisor(call, matrix), matrix);
    case OpKind::kMatMul:
    case OpKind::kGemm:
      return ProductCycles(call, DtypesDivisor(call, matrix), matrix);
    default:
      return 0;
  }
}

LowerBounds ComputeLowerBounds(const Graph& graph, absl::Span<const Command> commands,
                               const std::vector<OpInfo>& ops, const NpuConfig& config,
                               int64_t constant_bytes) {
  LowerBounds bounds;
  bounds.dram_bytes = constant_bytes;
  for (const ValueId value : graph.inputs) bounds.dram_bytes += graph.at(value).type.ByteCount();
  for (const ValueId value : graph.outputs) bounds.dram_bytes += graph.at(value).type.ByteCount();
  int64_t mac_units = 0;  // MACs weighted by the cycles of their dtype
  for (const Command& command : commands) {
    mac_units += CommandMacs(command) * RateDivisor(command.in0.dtype, config.matrix);
  }
  bounds.cycles =
      std::max(CeilDiv(mac_units, std::max<int64_t>(config.matrix.int8_macs_per_cycle, 1)),
               PeakDramCycles(bounds.dram_bytes, config.dram));
  for (const OpInfo& op : ops) bounds.mapped_cycles += op.mapped_cycles;
  bounds.mapped_cycles = std::max(bounds.mapped_cycles, bounds.cycles);
  return bounds;
}

}  // namespace berth
