#include "planner/compile_dynamic.h"

#include <memory>
#include <utility>

#include "kernels/fold/fold_constants.h"
#include "kernels/fold/graph_edit.h"
#include "planner/check_stop.h"
#include "planner/maximum_plan.h"
#include "planner/symbolic_extents.h"
#include "runtime/bundle/dynamic_model.h"

namespace berth {

absl::StatusOr<BundleContents> CompileDynamic(Graph graph, const CompileOptions& options) {
  std::optional<MaximumPlan> maximum = PlanMaximum(graph, options);
  BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
  FoldOptions fold;
  fold.partial = true;
  fold.keep_quantized = true;
  BERTH_RETURN_IF_ERROR(FoldConstants(graph, options.evaluator, fold));
  RemoveDeadNodes(graph);
  RemoveUnusedValues(graph);
  if (absl::Status status = VerifyDynamicGraph(graph); !status.ok()) {
    return Internal("the folded graph: {}", ToStd(status.message()));
  }
  if (options.dump) options.dump("graph", DumpGraph(graph));
  BundleContents contents;
  contents.model_name = graph.name;
  contents.config = options.config;
  contents.dynamic = DynamicModel{std::make_shared<const Graph>(std::move(graph)),
                                  options.float_storage,
                                  options.ranges,
                                  std::move(maximum),
                                  {}};
  contents.dynamic->outputs =
      FindOutputExtents(*contents.dynamic->graph, options.ranges, options.evaluator);
  contents.inputs = DescribeInputs(*contents.dynamic);
  contents.outputs = DescribeOutputs(*contents.dynamic);
  return contents;
}

}  // namespace berth
