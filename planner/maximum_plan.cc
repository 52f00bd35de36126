#include "planner/maximum_plan.h"

#include <algorithm>
#include <utility>

#include "npu_sim/timing.h"
#include "planner/dynamic_dims.h"

namespace berth {
namespace {

std::map<std::string, int64_t> Largest(const std::vector<DimRange>& ranges) {
  std::map<std::string, int64_t> extents;
  for (const DimRange& range : ranges) extents[range.name] = range.high;
  return extents;
}

bool IsBounded(const Graph& graph, const std::map<std::string, int64_t>& bounded) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
    const Value& value = graph.at(id);
    if (value.shape_known) return true;
    return value.rank_declared &&
           std::all_of(value.declared.begin(), value.declared.end(), [&](const Dim& dim) {
             return dim.extent >= 0 || bounded.count(dim.symbol) > 0;
           });
  });
}

absl::StatusOr<MaximumPlan> Plan(const Graph& graph, const CompileOptions& options,
                                 const std::map<std::string, int64_t>& extents) {
  BERTH_ASSIGN_OR_RETURN(Graph pinned, PinFreeDims(graph, extents));
  pinned.states.clear();  // they are the dynamic run's
  CompileOptions plan_options = options;
  plan_options.dump = nullptr;  // the stages of the model are those of its graph
  BERTH_ASSIGN_OR_RETURN(BundleContents contents,
                         CompileInnerGraph(std::move(pinned), plan_options));
  BERTH_ASSIGN_OR_RETURN(const SimReport report,
                         SimulateTiming(contents.program.view(), contents.config));
  MaximumPlan plan;
  plan.makespan_cycles = report.makespan_cycles;
  for (const MemoryPlan& memory : contents.memories) {
    if (memory.memory != "pool") continue;
    plan.pool_bytes = memory.height_bytes;
    plan.pool_lower_bound_bytes = memory.lower_bound_bytes;
  }
  plan.contents = std::make_shared<const BundleContents>(std::move(contents));
  return plan;
}

}  // namespace

std::optional<MaximumPlan> PlanMaximum(const Graph& graph, const CompileOptions& options) {
  const std::map<std::string, int64_t> extents = Largest(options.ranges);
  if (extents.empty() || !IsBounded(graph, extents)) return std::nullopt;
  absl::StatusOr<MaximumPlan> plan = Plan(graph, options, extents);
  if (plan.ok()) return *std::move(plan);
  return MaximumPlan{std::string(ToStd(plan.status().message()))};
}

}  // namespace berth
