#include "planner/compile.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "base/checked_math.h"
#include "base/no_memory.h"
#include "npu_sim/conflict_graph.h"
#include "npu_sim/verify.h"
#include "planner/bounds.h"
#include "planner/check_stop.h"
#include "planner/compile_dynamic.h"
#include "planner/describe_values.h"
#include "planner/dynamic_dims.h"
#include "planner/frontend.h"
#include "planner/import_model.h"
#include "planner/memory.h"
#include "planner/schedule/schedule.h"
#include "runtime/bundle/dynamic_model.h"

namespace berth {
namespace {

PlanStatus ToPlanStatus(PoolStatus status) {
  switch (status) {
    case PoolStatus::kOptimal:
      return PlanStatus::kOptimal;
    case PoolStatus::kFeasible:
      return PlanStatus::kFeasible;
    case PoolStatus::kInfeasible:
      return PlanStatus::kInfeasible;
    case PoolStatus::kTimeout:
      return PlanStatus::kTimeout;
  }
  return PlanStatus::kFeasible;
}

MemoryPlan DescribeMemory(std::string memory, const PoolPlan& plan, int64_t capacity_bytes,
                          int64_t buffer_count) {
  return {std::move(memory), plan.height_bytes, plan.lower_bound_bytes,
          capacity_bytes,    buffer_count,      ToPlanStatus(plan.status)};
}

std::vector<TensorInfo> Describe(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorInfo> infos;
  for (const ValueId value : values) infos.push_back({graph.at(value).name, graph.at(value).type});
  return infos;
}

FloatStorage DescribeFloats(const CompileOptions& options, const HalfSummary& half) {
  FloatStorage storage{options.float_storage, half.narrowed_values, half.narrowed_constants, {}};
  for (const KeptInFloat32& kept : half.kept) {
    storage.kept_in_float32.push_back(fmt::format("{}: {}", kept.node, kept.reason));
  }
  return storage;
}

// What the stages have made so far.
struct Stages {
  Graph graph;
  HalfSummary half;
  DramPlan dram;
  Schedule schedule;
  ConflictGraph conflicts;
};

// Calls the host's dump with a text that is only made when there is one to call.
template <typename MakeText>
void Dump(const CompileOptions& options, std::string_view stage, MakeText&& make_text) {
  if (options.dump) options.dump(stage, make_text());
}

absl::Status BeginStage(const CompileOptions& options, CompileStage stage) {
  if (options.on_stage) options.on_stage(stage);
  return CheckCompilation(options.stop);
}

std::string DumpTiles(const LoweredProgram& lowered) {
  std::string text;
  for (const OpInfo& op : lowered.ops) {
    text += fmt::format("{} '{}': {}\n", op.kind, op.name, op.decision);
  }
  return text;
}

absl::Status Prepare(const CompileOptions& options, Stages& stages) {
  BERTH_RETURN_IF_ERROR(BeginStage(options, CompileStage::kGraph));
  PrepareOptions prepare;
  prepare.evaluator = options.evaluator;
  prepare.fuse = options.fuse;
  // Constants that the machine has no room for are refused as values, not written out first.
  prepare.fold.filled_limit_bytes =
      std::min(prepare.fold.filled_limit_bytes, options.config.dram.size_bytes);
  prepare.float_storage = options.float_storage;
  prepare.half_summary = &stages.half;
  BERTH_ASSIGN_OR_RETURN(stages.graph, PrepareGraph(std::move(stages.graph), prepare));
  BERTH_RETURN_IF_ERROR(CheckStateTypes(stages.graph));
  SeparateOutputs(stages.graph);
  SeparateConcatOperands(stages.graph);
  Dump(options, "graph", [&] { return DumpGraph(stages.graph); });
  return absl::OkStatus();
}

absl::Status PlanMemory(const CompileOptions& options, Stages& stages) {
  BERTH_RETURN_IF_ERROR(BeginStage(options, CompileStage::kOrder));
  BERTH_ASSIGN_OR_RETURN(
      stages.dram, PlanDram(stages.graph, {options.pool_budget_bytes, options.search, options.stop},
                            options.reorder));
  Dump(options, "order", [&] {
    return fmt::format("{}\n{}", DescribeOrder(stages.dram.order), DumpGraph(stages.graph));
  });
  Dump(options, "pool", [&] { return DumpStorage(stages.graph, stages.dram.storage); });
  return absl::OkStatus();
}

// A value that no DRAM of the target holds is refused before it is cut into tiles, of which it
// would have millions.
absl::Status CheckValueSizes(const Graph& graph, const NpuConfig& config) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == ValueId::kNone) continue;
      const Value& value = graph.at(id);
      if (value.type.ByteCount() <= config.dram.size_bytes) continue;
      return ResourceExhausted(
          "{} '{}': output '{}' is {}, {} bytes; target '{}' has {} bytes of DRAM",
          OpName(node.kind), node.name, value.name, value.type.ToString(), value.type.ByteCount(),
          config.name, config.dram.size_bytes);
    }
  }
  return absl::OkStatus();
}

// Constants, pool, inputs and outputs stand in the machine's DRAM together.
absl::Status CheckDramCapacity(const TileProgram& program, const NpuConfig& config) {
  static constexpr std::string_view kWhat[] = {"constants", "pool", "inputs", "outputs"};
  int64_t total_bytes = 0, bytes[4] = {};
  for (const DramRegion& region : program.regions) {
    bytes[static_cast<size_t>(region.kind)] += region.size_bytes;
    total_bytes += region.size_bytes;
  }
  if (total_bytes <= config.dram.size_bytes) return absl::OkStatus();
  std::string parts;
  for (size_t i = 0; i < 4; ++i) {
    parts += fmt::format("{}{} {}", i == 0 ? "" : ", ", kWhat[i], bytes[i]);
  }
  return ResourceExhausted("target '{}' has {} bytes of DRAM, {} are needed ({}), {} too many",
                           config.name, config.dram.size_bytes, total_bytes, parts,
                           total_bytes - config.dram.size_bytes);
}

absl::Status MakeSchedule(const CompileOptions& options, Stages& stages) {
  BERTH_RETURN_IF_ERROR(BeginStage(options, CompileStage::kSchedule));
  BERTH_RETURN_IF_ERROR(CheckValueSizes(stages.graph, options.config));
  ScheduleOptions schedule_options;
  schedule_options.double_buffer = options.double_buffer;
  schedule_options.hoist = options.double_buffer && options.prefetch;
  schedule_options.reorder = options.reorder;
  schedule_options.search = options.search;
  schedule_options.command_cycles = options.command_cycles;
  schedule_options.resident = options.resident;
  schedule_options.stripes = options.stripes;
  schedule_options.pool_budget_bytes = options.pool_budget_bytes;
  schedule_options.storage = stages.dram.storage_options;
  schedule_options.progress = options.progress;
  schedule_options.stop = options.stop;
  BERTH_ASSIGN_OR_RETURN(stages.schedule,
                         ScheduleProgram(stages.graph, options.config, schedule_options));
  if (stages.schedule.is_reordered) {
    OrderResult& order = stages.dram.order;
    order.peak_bytes = PeakLiveBytes(AssignStorage(stages.graph, stages.dram.storage_options));
    order.is_exact = order.peak_bytes == order.lower_bound_bytes;
    order.method = "local";
  }
  Dump(options, "tiles", [&] { return DumpTiles(stages.schedule.lowered); });
  Dump(options, "program", [&] { return DumpProgram(stages.schedule.emitted.program.view()); });
  return absl::OkStatus();
}

absl::Status Prove(const CompileOptions& options, Stages& stages) {
  BERTH_RETURN_IF_ERROR(BeginStage(options, CompileStage::kProof));
  const TileProgram& program = stages.schedule.emitted.program;
  BERTH_RETURN_IF_ERROR(CheckDramCapacity(program, options.config));
  std::future<ConflictGraph> conflicts = std::async(
      std::launch::async, [&] { return BuildConflictGraph(ComputeHazards(program.view())); });
  const absl::Status proof = VerifyProgram(program.view(), options.config);
  stages.conflicts = conflicts.get();
  if (!proof.ok()) return Internal("the plan does not verify: {}", ToStd(proof.message()));
  return absl::OkStatus();
}

std::vector<MemoryPlan> DescribeMemories(const CompileOptions& options, const Stages& stages) {
  const ScratchpadPlan& on_chip = stages.schedule.scratchpad;
  const std::vector<StorageBuffer>& buffers = stages.schedule.storage.buffers;
  const int64_t pool_buffers = std::count_if(
      buffers.begin(), buffers.end(), [](const StorageBuffer& buffer) { return IsInPool(buffer); });
  return {DescribeMemory("pool", stages.schedule.pool, options.pool_budget_bytes, pool_buffers),
          DescribeMemory("scratchpad", on_chip.scratchpad, options.config.scratchpad.size_bytes,
                         on_chip.scratchpad_buffers),
          DescribeMemory("accumulator", on_chip.accumulator, options.config.accumulator.size_bytes,
                         on_chip.accumulator_buffers)};
}

BundleContents ToContents(const CompileOptions& options, Stages stages) {
  BundleContents contents;
  contents.model_name = stages.graph.name;
  contents.config = options.config;
  contents.inputs = Describe(stages.graph, stages.graph.inputs);
  contents.outputs = Describe(stages.graph, stages.graph.outputs);
  contents.states = DescribeStates(stages.graph);
  contents.memories = DescribeMemories(options, stages);
  const OrderResult& order = stages.dram.order;
  if (options.float_storage != DType::kFloat32) {
    contents.floats = DescribeFloats(options, stages.half);
  }
  contents.order = {order.model_peak_bytes, order.peak_bytes, order.lower_bound_bytes};
  contents.values =
      DescribeValues(stages.graph, stages.schedule.storage, stages.schedule.emitted.pool_slots);
  contents.program = std::move(stages.schedule.emitted.program);
  contents.conflicts = std::move(stages.conflicts);
  contents.buffer_names = std::move(stages.schedule.emitted.buffer_names);
  contents.constants = std::move(*stages.schedule.lowered.constants);
  contents.ops = std::move(stages.schedule.lowered.ops);
  contents.segments = std::move(stages.schedule.segments);
  contents.trials = std::move(stages.schedule.trials);
  const LowerBounds bounds =
      ComputeLowerBounds(stages.graph, contents.program.commands, contents.ops, contents.config,
                         stages.schedule.lowered.constant_bytes);
  contents.cycles_lower_bound = bounds.cycles;
  contents.cycles_lower_bound_mapped = bounds.mapped_cycles;
  contents.dram_bytes_lower_bound = bounds.dram_bytes;
  return contents;
}

bool HasFreeShapes(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](ValueId id) { return !graph.at(id).shape_known; });
}

absl::StatusOr<BundleContents> CompileStatic(Graph graph, const CompileOptions& options) {
  Stages stages;
  stages.graph = std::move(graph);
  std::vector<std::string> output_names;
  for (const ValueId output : stages.graph.outputs) {
    output_names.push_back(stages.graph.at(output).name);
  }
  BERTH_RETURN_IF_ERROR(Prepare(options, stages));
  BERTH_RETURN_IF_ERROR(PlanMemory(options, stages));
  BERTH_RETURN_IF_ERROR(MakeSchedule(options, stages));
  BERTH_RETURN_IF_ERROR(Prove(options, stages));
  BundleContents contents = ToContents(options, std::move(stages));
  // The interface keeps the model's names, whatever values stand behind it.
  for (size_t i = 0; i < output_names.size(); ++i) contents.outputs[i].name = output_names[i];
  return contents;
}

// Static where every shape is known; where they hang on what the model computes, that turns out as
// it is compiled.
absl::StatusOr<BundleContents> CompileAny(Graph graph, const CompileOptions& options) {
  if (!options.dynamic) return CompileStatic(std::move(graph), options);
  if (HasFreeShapes(graph)) return CompileDynamic(std::move(graph), options);
  auto contents = CompileStatic(graph, options);
  if (!absl::IsFailedPrecondition(contents.status())) return contents;
  return CompileDynamic(std::move(graph), options);
}

ImportOptions ToImportOptions(const CompileOptions& options) {
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.shapes_by_position = options.shapes_by_position;
  import.constant_inputs = options.constant_inputs;
  import.state_mode = options.state_mode;
  import.free_shapes = options.dynamic;
  import.data_folder = options.data_folder;
  return import;
}

// What is compiled: `import` reads it, `name` stands for it in messages.
template <typename Import>
absl::StatusOr<BundleContents> CompileImported(std::string_view name, Import&& import,
                                               const CompileOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  BERTH_RETURN_IF_ERROR(BeginStage(options, CompileStage::kImport));
  BERTH_ASSIGN_OR_RETURN(Graph graph, import(ToImportOptions(options)));
  BERTH_RETURN_IF_ERROR(Annotate(BindStates(options.states, graph), name));
  NameFreeDims(graph);
  BERTH_RETURN_IF_ERROR(Annotate(VerifyRanges(graph, options.ranges), name));
  Dump(options, "import", [&] { return DumpGraph(graph); });
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileAny(std::move(graph), options));
  contents.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return contents;
}

}  // namespace

absl::StatusOr<BundleContents> CompileModel(const std::string& path,
                                            const CompileOptions& options) {
  return CatchNoMemory([&] {
    const auto import = [&](const ImportOptions& import) { return ImportModelFile(path, import); };
    return CompileImported(fmt::format("model '{}'", path), import, options);
  });
}

absl::StatusOr<BundleContents> CompileModelBytes(absl::Span<const std::byte> model,
                                                 const CompileOptions& options) {
  return CatchNoMemory([&] {
    const auto import = [&](const ImportOptions& import) {
      return ImportModelBytes(model, import);
    };
    return CompileImported("model in memory", import, options);
  });
}

absl::StatusOr<BundleContents> CompileGraph(Graph graph, const CompileOptions& options) {
  return CatchNoMemory([&] { return CompileStatic(std::move(graph), options); });
}

absl::StatusOr<BundleContents> CompileInnerGraph(Graph graph, const CompileOptions& options) {
  return CompileStatic(std::move(graph), options);
}

}  // namespace berth
