// Dynamic bundles: what can be done for a model before its shapes are known.
#pragma once

#include "planner/compile.h"

namespace berth {

// The graph with folded constants, checked as far as its types are known: contradictions in what no
// input can change are errors here already.
absl::StatusOr<BundleContents> CompileDynamic(Graph graph, const CompileOptions& options);

}  // namespace berth
