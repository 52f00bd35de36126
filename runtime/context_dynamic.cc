// The runs of a context that may be dynamic.
#include <cstring>
#include <utility>

#include "berth/context.h"
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

absl::Status Context::Run(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                          const RunOptions& options, SimReport* report) {
  if (program_->is_dynamic()) return RunDynamic(inputs, outputs, options, report);
  outputs.clear();
  std::vector<TensorView> views;
  outputs.reserve(program_->outputs().size());
  for (const TensorInfo& info : program_->outputs()) {
    outputs.emplace_back(info.type);
    views.push_back(outputs.back().view());
  }
  return Run(inputs, views, options, report);
}

absl::Status Context::RunDynamic(absl::Span<const ConstTensorView> inputs,
                                 std::vector<Tensor>& outputs, const RunOptions& options,
                                 SimReport* report) {
  if (options.mode != RunMode::kValues && report == nullptr) {
    return InvalidArgument("a run for cycles needs a report to fill");
  }
  BERTH_ASSIGN_OR_RETURN(std::vector<RunValue> values, dynamic_states_->Inputs(inputs));
  DynamicProgram& dynamic = program_->dynamic();
  RunPlace place;
  place.scratchpad = memory_.scratchpad;
  place.accumulator = memory_.accumulator;
  place.poison = options_.poison_before_run;
  place.workers = {options_.threads, options_.arena != nullptr ? options_.arena : own_arena_.get()};
  place.stop = {&cancel_, options.deadline};
  DynamicRun run(dynamic, place, options.mode);
  absl::StatusOr<std::vector<RunValue>> results = run.Run(dynamic.graph(), std::move(values));
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
  if (outputs.size() != program_->outputs().size()) {
    return InvalidArgument("{} outputs given, {} expected", outputs.size(),
                           program_->outputs().size());
  }
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
