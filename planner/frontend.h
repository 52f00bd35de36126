// The front half of the planner: from an imported graph to one whose nodes all lower themselves or
// are views. frontend.cc lists the passes in order.
#pragma once

#include <functional>
#include <string_view>

#include "kernels/fold/evaluator.h"
#include "kernels/fold/fold_constants.h"
#include "kernels/graph.h"
#include "planner/passes/half_storage.h"

namespace berth {

struct PrepareOptions {
  // Folds constants; null folds only what needs no arithmetic.
  ConstantEvaluator evaluator;
  FoldOptions fold;
  bool fuse = true;  // elementwise ops into the end of the op before them
  // kFloat16 or kBFloat16: a float32 model is stored at half size (passes/half_storage.h).
  DType float_storage = DType::kFloat32;
  HalfSummary* half_summary = nullptr;  // filled where it is given and float_storage asks for it
  // Called after each pass with its name.
  std::function<void(std::string_view pass, const Graph& graph)> dump;
};

// Inputs and outputs keep their order, names and types. The graph is verified after every pass.
absl::StatusOr<Graph> PrepareGraph(Graph graph, const PrepareOptions& options);

}  // namespace berth
