#include "planner/bounds.h"

#include <algorithm>

#include "base/checked_math.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

// Array cycles per int8 MAC-time of a dtype.
int64_t RateDivisor(DType dtype, const MatrixConfig& matrix) {
  switch (DTypeBytes(dtype)) {
    case 1:
      return 1;
    case 2:
      return matrix.fp16_rate_divisor;
    default:
      return matrix.fp32_rate_divisor;
  }
}

}  // namespace

LowerBounds ComputeLowerBounds(const Graph& graph, const BundleContents& contents) {
  LowerBounds bounds;
  bounds.dram_bytes = static_cast<int64_t>(contents.constants.size());
  for (const ValueId value : graph.inputs) bounds.dram_bytes += graph.at(value).type.ByteCount();
  for (const ValueId value : graph.outputs) bounds.dram_bytes += graph.at(value).type.ByteCount();
  const NpuConfig& config = contents.config;
  int64_t mac_units = 0;  // MACs weighted by the cycles of their dtype
  for (const Command& command : contents.program.commands) {
    mac_units += CommandMacs(command) * RateDivisor(command.in0.dtype, config.matrix);
  }
  bounds.cycles =
      std::max(CeilDiv(mac_units, std::max<int64_t>(config.matrix.int8_macs_per_cycle, 1)),
               CeilDiv(bounds.dram_bytes * 1000,
                       std::max<int64_t>(config.dram.peak_millibytes_per_cycle, 1)));
  return bounds;
}

}  // namespace berth
