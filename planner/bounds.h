// Neighbours of the simulated figures: what no schedule of this model on this machine can beat.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph.h"
#include "runtime/bundle/contents.h"

namespace berth {

struct LowerBounds {
  int64_t dram_bytes = 0;     // every constant that is read, every input and output, once
  int64_t cycles = 0;         // max(MACs at the full array rate of their dtype, bytes at peak rate)
  int64_t mapped_cycles = 0;  // the same with the sum of MappedCycles, where that is more
};
// `constant_bytes`: of the constants that are read, without what aligns them.
LowerBounds ComputeLowerBounds(const Graph& graph, absl::Span<const Command> commands,
                               const std::vector<OpInfo>& ops, const NpuConfig& config,
                               int64_t constant_bytes);

// Cycles for which the matrix unit is taken by a whole node in one command: folds of the array
// times the rows that each streams (docs/machine.md, "Matrix unit"), depthwise convolutions at
// their own rate, transposed ones at the full rate. 0 for a node of another unit.
int64_t MappedCycles(const Graph& graph, const Node& node, const MatrixConfig& matrix);

}  // namespace berth
