// Neighbours of the simulated figures: what no schedule of this model on this machine can beat.
#pragma once

#include <cstdint>

#include "kernels/graph.h"
#include "runtime/bundle/contents.h"

namespace berth {

struct LowerBounds {
  int64_t dram_bytes = 0;  // every constant that is read, every input and output, once
  int64_t cycles = 0;      // max(MACs at the full array rate of their dtype, bytes at peak rate)
};
LowerBounds ComputeLowerBounds(const Graph& graph, const BundleContents& contents);

}  // namespace berth
