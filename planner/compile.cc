#include "planner/compile.h"

#include <algorithm>
#include <chrono>

#include "base/checked_math.h"
#include "npu_sim/verify.h"
#include "planner/bounds.h"
#include "planner/emit/emit.h"
#include "planner/frontend.h"
#include "planner/onnx/import.h"
#include "planner/order/order.h"
#include "planner/schedule/schedule.h"
#include "planner/storage/storage.h"

namespace berth {
namespace {

PlanStatus ToPlanStatus(PoolStatus status) {
  switch (status) {
    case PoolStatus::kOptimal: return PlanStatus::kOptimal;
    case PoolStatus::kFeasible: return PlanStatus::kFeasible;
    case PoolStatus::kInfeasible: return PlanStatus::kInfeasible;
    case PoolStatus::kTimeout: return PlanStatus::kTimeout;
  }
  return PlanStatus::kFeasible;
}

MemoryPlan DescribeMemory(std::string memory, const PoolPlan& plan, int64_t capacity_bytes,
                          int64_t buffer_count) {
  return {std::move(memory), plan.height_bytes,          plan.lower_bound_bytes, capacity_bytes,
          buffer_count,      ToPlanStatus(plan.status)};
}

std::vector<TensorInfo> Describe(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorInfo> infos;
  for (const ValueId value : values) infos.push_back({graph.at(value).name, graph.at(value).type});
  return infos;
}

void Dump(const CompileOptions& options, std::string_view stage, const std::string& text) {
  if (options.dump) options.dump(stage, text);
}

}  // namespace

absl::StatusOr<BundleContents> CompileModel(const std::string& path,
                                            const CompileOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.shapes_by_position = options.shapes_by_position;
  import.constant_inputs = options.constant_inputs;
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, import));
  if (options.dump) Dump(options, "import", DumpGraph(graph));
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileGraph(std::move(graph), options));
  contents.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return contents;
}

absl::StatusOr<BundleContents> CompileGraph(Graph graph, const CompileOptions& options) {
  BundleContents contents;
  contents.model_name = graph.name;
  contents.config = options.config;
  // Names and order of the interface are the model's; passes may replace the values behind it.
  const std::vector<ValueId> model_outputs = graph.outputs;
  std::vector<std::string> output_names;
  for (const ValueId output : model_outputs) output_names.push_back(graph.at(output).name);

  PrepareOptions prepare;
  prepare.evaluator = options.evaluator;
  BERTH_ASSIGN_OR_RETURN(graph, PrepareGraph(std::move(graph), prepare));
  SeparateOutputs(graph);
  SeparateConcatOperands(graph);
  if (options.dump) Dump(options, "graph", DumpGraph(graph));

  const StorageOptions storage_options;
  const OrderResult order = OrderNodes(graph, storage_options);
  if (options.dump) {
    Dump(options, "order",
         fmt::format("method {} peak {} model order {}\n{}", order.method, order.peak_bytes,
                     order.model_peak_bytes, DumpGraph(graph)));
  }

  StoragePlan storage = AssignStorage(graph, storage_options);
  BERTH_ASSIGN_OR_RETURN(const PoolPlan pool, PlacePool(storage, options.pool_budget_bytes));
  if (options.dump) Dump(options, "pool", DumpStorage(graph, storage));

  ScheduleOptions schedule_options;
  schedule_options.double_buffer = options.double_buffer;
  BERTH_ASSIGN_OR_RETURN(Schedule schedule,
                         ScheduleProgram(graph, storage, options.config, schedule_options));
  EmittedProgram emitted =
      EmitProgram(graph, storage, schedule.lowered, schedule.scratchpad, options.config);
  if (options.dump) {
    std::string tiles;
    for (const OpInfo& op : schedule.lowered.ops) {
      tiles += fmt::format("{} '{}': {}\n", op.kind, op.name, op.decision);
    }
    Dump(options, "tiles", tiles);
    Dump(options, "program", DumpProgram(emitted.program.view()));
  }
  const absl::Status proof = VerifyProgram(emitted.program.view(), options.config);
  if (!proof.ok()) return Internal("the plan does not verify: {}", ToStd(proof.message()));

  contents.inputs = Describe(graph, graph.inputs);
  contents.outputs = Describe(graph, graph.outputs);
  for (size_t i = 0; i < output_names.size(); ++i) contents.outputs[i].name = output_names[i];
  contents.program = std::move(emitted.program);
  contents.conflicts = std::move(emitted.conflicts);
  contents.buffer_names = std::move(emitted.buffer_names);
  contents.constants = std::move(schedule.lowered.constants);
  contents.ops = std::move(schedule.lowered.ops);
  const int64_t pool_buffers =
      std::count_if(storage.buffers.begin(), storage.buffers.end(), [](const StorageBuffer& b) {
        return b.kind == RegionKind::kPool && b.end_step > 0;
      });
  const ScratchpadPlan& on_chip = schedule.scratchpad;
  contents.memories = {
      DescribeMemory("pool", pool, options.pool_budget_bytes, pool_buffers),
      DescribeMemory("scratchpad", on_chip.scratchpad, options.config.scratchpad.size_bytes,
                     on_chip.scratchpad_buffers),
      DescribeMemory("accumulator", on_chip.accumulator, options.config.accumulator.size_bytes,
                     on_chip.accumulator_buffers)};
  const LowerBounds bounds = ComputeLowerBounds(graph, contents);
  contents.cycles_lower_bound = bounds.cycles;
  contents.dram_bytes_lower_bound = bounds.dram_bytes;
  return contents;
}

}  // namespace berth
