#include "runtime/dynamic/dynamic_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/control_flow.h"
#include "kernels/host_functions.h"
#include "kernels/op_def.h"
#include "kernels/reference/reference.h"
#include "runtime/dynamic/reports.h"
#include "runtime/executor/sanitized.h"

namespace berth {
namespace {

constexpr int kPoisonByte = 0xff;
// What decides shapes is short: extents, bounds, axes, scalars. Longer data make a result as long
// as they say, and their values come once.
constexpr int64_t kMostKnownElements = 64;
// Operands and results that the host goes through sooner than a program for them would be made.
constexpr int64_t kMostHostBytes = 64 << 10;

bool MayDecideShapes(const TensorType& type) {
  const int64_t count = type.shape.ElementCount();
  return count <= 1 ||
         (IsInteger(type.dtype) && type.shape.rank() <= 1 && count <= kMostKnownElements);
}

// Values in the order of `sources`.
std::vector<RunValue> Collect(const std::vector<ValueSource>& sources,
                              const std::vector<RunValue>& inputs,
                              const std::vector<RunValue>& part,
                              const std::vector<RunValue>& rest) {
  std::vector<RunValue> values;
  for (const ValueSource& source : sources) {
    switch (source.kind) {
      case ValueSource::Kind::kInput:
        values.push_back(inputs[source.position]);
        break;
      case ValueSource::Kind::kPart:
        values.push_back(part[source.position]);
        break;
      case ValueSource::Kind::kRest:
        values.push_back(rest[source.position]);
        break;
      case ValueSource::Kind::kConstant:
        values.push_back(ValueOf(source.constant));
        break;
    }
  }
  return values;
}

// Inputs of the rest that its first node reads and that may decide shapes.
std::vector<bool> FindDeciding(const Graph& rest, const std::vector<RunValue>& inputs) {
  const std::vector<ValueId> reads = ReadValues(rest.nodes.front());
  std::vector<bool> deciding(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    deciding[i] = MayDecideShapes(inputs[i].type) &&
                  std::find(reads.begin(), reads.end(), rest.inputs[i]) != reads.end();
  }
  return deciding;
}

std::vector<RunValue> OperandsOf(const Graph& rest, const std::vector<RunValue>& inputs) {
  std::vector<RunValue> operands;
  for (const ValueId id : rest.nodes.front().inputs) {
    if (id == ValueId::kNone) {
      operands.push_back({});
      continue;
    }
    if (const auto& constant = rest.at(id).constant) {
      operands.push_back(ValueOf(constant));
      continue;
    }
    const auto input = std::find(rest.inputs.begin(), rest.inputs.end(), id);
    operands.push_back(inputs[static_cast<size_t>(input - rest.inputs.begin())]);
  }
  return operands;
}

// Bytes of the operands and, as they follow from their values, of the results.
absl::StatusOr<int64_t> BytesOf(const Node& node, const std::vector<RunValue>& operands) {
  Graph graph;
  Node alone = node;
  int64_t bytes = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (node.inputs[i] == ValueId::kNone) continue;
    bytes += operands[i].type.ByteCount();
    Tensor tensor(operands[i].type);
    if (!tensor.bytes().empty()) {
      std::memcpy(tensor.bytes().data(), operands[i].data, tensor.bytes().size());
    }
    alone.inputs[i] = graph.AddConstant(fmt::format("{}", i), std::move(tensor));
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferNodeTypes(graph, alone));
  for (const TensorType& type : types) bytes += type.ByteCount();
  return bytes;
}

}  // namespace

RunValue ValueOf(std::shared_ptr<const Tensor> tensor) {
  const std::byte* data = tensor->bytes().data();
  TensorType type = tensor->type();
  return {std::move(type), data, std::move(tensor), nullptr};
}

absl::Status DynamicRun::CountStep() {
  const int64_t limit = program_.options().step_limit;
  if (++steps_ > limit) {
    return ResourceExhausted(
        "the run takes more than {} steps (programs, ops on the host, "
        "iterations)",
        limit);
  }
  return CheckStop(place_.stop);
}

absl::StatusOr<RunValue> DynamicRun::NewValue(const TensorType& type) {
  DynamicPool& pool = program_.pool();
  BERTH_ASSIGN_OR_RETURN(const PoolBlock block, pool.Allocate(type.ByteCount()));
  std::byte* const data = pool.data(block);
  std::shared_ptr<const void> owner(static_cast<const void*>(data), [&pool, block](const void*) {
    (void)pool.Free(block);  // it is live
  });
  return RunValue{type, data, std::move(owner), nullptr};
}

absl::StatusOr<RunValue> DynamicRun::NewResult(const TensorType& type) {
  auto tensor = std::make_shared<Tensor>(type);
  const std::byte* data = tensor->bytes().data();
  return RunValue{type, data, tensor, tensor};
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::Run(const std::shared_ptr<const Graph>& graph,
                                                      std::vector<RunValue> inputs) {
  return RunBound(graph, inputs, std::vector<bool>(inputs.size()));
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunBound(
    const std::shared_ptr<const Graph>& graph, const Values& inputs,
    const std::vector<bool>& known) {
  std::vector<SpecializationInput> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.push_back({inputs[i].type, known[i] ? inputs[i].data : nullptr});
  }
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<Specialization> specialization,
                         program_.Specialize(graph, types, place_.stop));
  const GraphSplit& split = specialization->split();
  BERTH_ASSIGN_OR_RETURN(const Values part, RunPart(*specialization, inputs));
  Values rest;
  if (split.rest != nullptr) {
    BERTH_ASSIGN_OR_RETURN(rest, RunRest(split, Collect(split.rest_inputs, inputs, part, {})));
  }
  return Collect(split.outputs, inputs, part, rest);
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunRest(const GraphSplit& split,
                                                          const Values& inputs) {
  const Graph& rest = *split.rest;
  const Node& first = rest.nodes.front();
  const Values operands = OperandsOf(rest, inputs);
  Values results;
  if (IsControlFlow(first.kind)) {
    BERTH_ASSIGN_OR_RETURN(results, RunControlFlow(first, operands));
  } else {
    const std::vector<bool> deciding = FindDeciding(rest, inputs);
    const bool can_know = std::find(deciding.begin(), deciding.end(), true) != deciding.end();
    BERTH_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(first, operands));
    if (can_know && bytes > kMostHostBytes) return RunBound(split.rest, inputs, deciding);
    BERTH_ASSIGN_OR_RETURN(results, RunOnHost(rest, first, operands, bytes));
  }
  Values after;
  if (!split.after->nodes.empty()) {
    BERTH_ASSIGN_OR_RETURN(after,
                           Run(split.after, Collect(split.after_inputs, inputs, results, {})));
  }
  return Collect(split.after_outputs, inputs, results, after);
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunOnHost(const Graph& graph, const Node& node,
                                                            const Values& operands, int64_t bytes) {
  BERTH_RETURN_IF_ERROR(CountStep());
  std::vector<ConstTensorView> views;
  for (const RunValue& operand : operands) views.push_back(operand.view());
  if (bytes > program_.config().dram.size_bytes) {
    return ResourceExhausted("{} '{}': {} bytes read and written, the target has {}",
                             OpName(node.kind), node.name, bytes,
                             program_.config().dram.size_bytes);
  }
  auto results = EvaluateNode(graph, node, views);
  if (!results.ok()) {
    return Annotate(results.status(), fmt::format("{} '{}'", OpName(node.kind), node.name));
  }
  Values values;
  for (Tensor& result : *results) {
    values.push_back(ValueOf(std::make_shared<const Tensor>(std::move(result))));
  }
  AddReport(HostReport(bytes, program_.config()), report_);
  return values;
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunPart(Specialization& specialization,
                                                          const Values& inputs) {
  const std::shared_ptr<const Program> program = specialization.program();
  if (program == nullptr) return Values{};
  BERTH_RETURN_IF_ERROR(CountStep());
  if (mode_ != RunMode::kValues) {
    BERTH_ASSIGN_OR_RETURN(const SimReport report, specialization.Report(program));
    AddReport(report, report_);
  }
  Values part_inputs, outputs;
  for (const size_t position : specialization.split().part_inputs) {
    part_inputs.push_back(inputs[position]);
  }
  // What the last program gives is mostly the caller's.
  const bool is_last = depth_ == 0 && specialization.split().rest == nullptr;
  for (const TensorInfo& info : program->outputs()) {
    BERTH_ASSIGN_OR_RETURN(RunValue value, is_last ? NewResult(info.type) : NewValue(info.type));
    outputs.push_back(std::move(value));
  }
  // Without values to decide on, a run for cycles alone needs none.
  if (mode_ == RunMode::kCycles && specialization.split().rest == nullptr) return outputs;
  BERTH_RETURN_IF_ERROR(RunProgram(*program, part_inputs, outputs));
  return outputs;
}

absl::Status DynamicRun::RunProgram(const Program& program, const Values& inputs,
                                    const Values& outputs) {
  const Bundle& bundle = program.bundle();
  const MemoryRequirements& memory = program.memory();
  BERTH_ASSIGN_OR_RETURN(const RunValue pool,
                         NewValue({DType::kUInt8, Shape{std::max<int64_t>(memory.pool_bytes, 1)}}));
  // A verified program writes to the pool and outputs alone.
  const auto writable = [](const std::byte* data) { return const_cast<std::byte*>(data); };
  std::vector<std::byte*> regions;
  for (const DramRegion& region : bundle.program().regions) {
    switch (region.kind) {
      case RegionKind::kConstants:
        regions.push_back(writable(bundle.constants().data()));
        break;
      case RegionKind::kPool:
        regions.push_back(writable(pool.data));
        break;
      case RegionKind::kInput:
        regions.push_back(writable(inputs[region.index].data));
        break;
      case RegionKind::kOutput:
        regions.push_back(writable(outputs[region.index].data));
        break;
    }
  }
  if (place_.poison) {
    std::memset(writable(pool.data), kPoisonByte, static_cast<size_t>(memory.pool_bytes));
    std::memset(place_.scratchpad, kPoisonByte, static_cast<size_t>(memory.scratchpad_bytes));
    std::memset(place_.accumulator, kPoisonByte, static_cast<size_t>(memory.accumulator_bytes));
  }
  const ExecutionPlan& plan = program.execution_plan();
  const int64_t working_bytes = std::max<int64_t>(WorkingBytes(plan, place_.workers.workers), 1);
  BERTH_ASSIGN_OR_RETURN(const RunValue working, NewValue({DType::kUInt8, Shape{working_bytes}}));
  ExecutorRun run;
  run.memory = {place_.scratchpad, place_.accumulator, regions};
  if (place_.sanitizer != nullptr) {
    return RunSanitized(bundle, run.memory, place_.stop, *place_.sanitizer);
  }
  run.working = writable(working.data);
  run.host_functions = KernelHostFunctions();
  run.stop = place_.stop;
  run.workers = place_.workers;
  run.fault = place_.fault;
  return Executor(plan).Run(run);
}

}  // namespace berth
