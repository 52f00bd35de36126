#include "planner/frontend.h"

#include <set>
#include <string>

#include "planner/passes/absorb_transposes.h"
#include "planner/passes/eliminate_identities.h"
#include "planner/passes/expand_ops.h"
#include "planner/passes/fold_affine.h"
#include "planner/passes/fold_pad.h"
#include "planner/passes/fuse_elementwise.h"
#include "planner/passes/hoist_elementwise.h"
#include "planner/passes/quantized_movement.h"
#include "planner/passes/quantized_products.h"
#include "planner/passes/quantized_reads.h"
#include "planner/passes/to_nhwc.h"

namespace berth {
namespace {

struct Pass {
  const char* name;
  std::function<absl::Status(Graph&)> run;
};

std::vector<Pass> PassesInOrder(const PrepareOptions& options) {
  const auto fold = [&options](Graph& graph) {
    return FoldConstants(graph, options.evaluator, options.fold);
  };
  const auto fold_keeping = [&options](Graph& graph) {
    FoldOptions fold_options = options.fold;
    fold_options.keep_quantized = true;
    return FoldConstants(graph, options.evaluator, fold_options);
  };
  const auto store = [&options](Graph& graph) -> absl::Status {
    if (options.float_storage == DType::kFloat32) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(HalfSummary summary, StoreAsHalf(graph, options.float_storage));
    if (options.half_summary != nullptr) *options.half_summary = std::move(summary);
    return absl::OkStatus();
  };
  return {
      {"infer-and-fold", fold_keeping},
      {"eliminate-identities", EliminateIdentities},
      {"eliminate-dead", EliminateDead},
      {"expand-quantized", [](Graph& graph) { return ExpandOps(graph, ExpandScope::kQuantized); }},
      {"move-quantization", MoveQuantization},
      {"fold-moved", fold_keeping},
      {"fold-quantized-products", FoldQuantizedProducts},
      {"fold-constants", fold},
      {"eliminate-quantized", EliminateIdentities},
      {"expand-ops", [](Graph& graph) { return ExpandOps(graph, ExpandScope::kBeforeLayout); }},
      {"fold-expanded", fold},
      {"eliminate-expanded", EliminateIdentities},
      {"fold-pad", FoldPad},
      {"fold-affine", FoldAffine},
      {"to-nhwc", ToNhwc},
      {"expand-nhwc", [](Graph& graph) { return ExpandOps(graph, ExpandScope::kAll); }},
      {"merge-reshapes", MergeReshapes},
      {"absorb-transposes", AbsorbTransposes},
      {"read-quantized", ReadQuantized},
      {"store-at-half-size", store},
      {"hoist-elementwise", HoistElementwise},
      {"fuse-elementwise",
       [&options](Graph& graph) {
         return options.fuse ? FuseElementwise(graph) : absl::OkStatus();
       }},
      {"eliminate-unused", EliminateDead},
  };
}

// Output values that passes replaced take the names that the model gives them.
void RestoreNames(const std::vector<std::string>& names, Graph& graph) {
  std::set<ValueId> fixed(graph.inputs.begin(), graph.inputs.end());
  for (size_t i = 0; i < names.size(); ++i) {
    const ValueId id = graph.outputs[i];
    if (graph.at(id).constant == nullptr && fixed.insert(id).second) graph.at(id).name = names[i];
  }
}

}  // namespace

absl::StatusOr<Graph> PrepareGraph(Graph graph, const PrepareOptions& options) {
  std::vector<std::string> output_names;
  for (const ValueId id : graph.outputs) output_names.push_back(graph.at(id).name);
  for (const Pass& pass : PassesInOrder(options)) {
    BERTH_RETURN_IF_ERROR(pass.run(graph));
    if (absl::Status status = VerifyGraph(graph); !status.ok()) {
      return Internal("after pass {}: {}", pass.name, ToStd(status.message()));
    }
    if (options.dump) options.dump(pass.name, graph);
  }
  RestoreNames(output_names, graph);
  return graph;
}

}  // namespace berth
