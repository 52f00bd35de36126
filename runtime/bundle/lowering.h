// How a graph of known shapes becomes a program while a dynamic model runs: the interface by which
// a host gives the runtime a planner (planner/lower_shape.h implements it).
#pragma once

#include <functional>

#include "base/status.h"
#include "base/stop.h"
#include "kernels/graph.h"
#include "npu_sim/config.h"
#include "runtime/bundle/contents.h"

namespace berth {

struct LoweringRequest {
  NpuConfig config;
  StopConditions stop;                    // of the run that waits for the program
  DType float_storage = DType::kFloat32;  // as in DynamicModel
};

// The types of the graph's values are known; the program keeps its inputs and outputs in their
// order, and has passed VerifyProgram. Called from several threads at once.
using GraphLowering =
    std::function<absl::StatusOr<BundleContents>(Graph graph, const LoweringRequest& request)>;

}  // namespace berth
