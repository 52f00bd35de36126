// Runs graphs on the simulated machine, for the quantizer.
#pragma once

#include "planner/compile.h"
#include "planner/quantize/run_graph.h"

namespace berth {

// Each graph is compiled for `options` and proved once, then run for values only.
GraphRunner MachineRunner(CompileOptions options, int threads);

}  // namespace berth
