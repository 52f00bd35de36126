// The runs of a context that may be dynamic.
#include <cstring>
#include <utility>

#include "berth/context.h"
#include "runtime/caller_buffers.h"
#include "runtime/dynamic/dynamic_run.h"
#include "runtime/dynamic/dynamic_states.h"

namespace berth {
namespace {

// Moved where nobody else has it; `value` is of no use afterwards.
Tensor ToTensor(RunValue& value) {
  if (value.result != nullptr) value.owner.reset();
  if (value.result != nullptr && value.result.use_count() == 1) return std::move(*value.result);
  Tensor tensor(value.type);
  if (!tensor.bytes().empty()) {
    std::memcpy(tensor.bytes().data(), value.data, tensor.bytes().size());
  }
  return tensor;
}

}  // namespace

absl::Status Context::RunDynamic(absl::Span<const ConstTensorView> inputs,
                                 std::vector<Tensor>& outputs, const RunOptions& options,
                                 SimReport* report) {
  BERTH_ASSIGN_OR_RETURN(std::vector<RunValue> values, dynamic_states_->Inputs(inputs));
  DynamicProgram& dynamic = program_->dynamic();
  ArenaLease lease;
  const absl::Status placed = ArenaOfRun(lease, options);
  RunPlace place;
  place.scratchpad = run_.memory.scratchpad;
  place.accumulator = run_.memory.accumulator;
  place.poison = options_.poison_before_run;
  place.workers = Workers();
  place.stop = StopOf(options);
  place.fault = options.fault ? &*options.fault : nullptr;
  place.sanitizer = options.sanitizer;
  DynamicRun run(dynamic, place, options.mode);
  using Results = absl::StatusOr<std::vector<RunValue>>;
  Results results = placed.ok() ? run.Run(dynamic.graph(), std::move(values)) : Results(placed);
  cancel_.store(false, std::memory_order_relaxed);
  if (!results.ok()) return results.status();
  outputs.clear();
  if (options.mode == RunMode::kCycles) {  // the states stay, values are open
    const std::vector<TensorBinding>& bindings = program_->interface().output_bindings;
    for (size_t i = 0; i < bindings.size(); ++i) {
      if (!bindings[i].is_state) outputs.push_back(ToTensor((*results)[i]));
    }
  } else {
    std::vector<RunValue> callers = dynamic_states_->Keep(*std::move(results));
    for (RunValue& result : callers) outputs.push_back(ToTensor(result));
  }
  if (options.mode != RunMode::kValues) *report = run.report();
  return absl::OkStatus();
}

absl::Status Context::RunDynamicInto(absl::Span<const ConstTensorView> inputs,
                                     absl::Span<const TensorView> outputs,
                                     const RunOptions& options, SimReport* report) {
  const std::vector<TensorInfo>& infos = program_->outputs();
  BERTH_RETURN_IF_ERROR(
      CheckCounts(inputs.size(), outputs.size(), program_->inputs().size(), infos.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(CheckOpenOutput(i, infos[i], outputs[i]));
  }
  BERTH_RETURN_IF_ERROR(CheckOverlap(inputs, outputs));
  std::vector<Tensor> made;
  BERTH_RETURN_IF_ERROR(RunDynamic(inputs, made, options, report));
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].type() == outputs[i].type) continue;
    return InvalidArgument("output {} ('{}'): {} given, {} comes out", i,
                           program_->outputs()[i].name, outputs[i].type.ToString(),
                           made[i].type().ToString());
  }
  for (size_t i = 0; i < made.size(); ++i) {
    const absl::Span<const std::byte> bytes = std::as_const(made[i]).bytes();
    if (!bytes.empty()) std::memcpy(outputs[i].data, bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

}  // namespace berth
