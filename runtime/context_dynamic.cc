// The runs of a context that may be dynamic.
#include <cstring>
#include <utility>

#include "berth/context.h"
#include "runtime/dynamic/bind_shapes.h"
#include "runtime/dynamic/dynamic_run.h"

namespace berth {
namespace {

absl::Status CheckInputs(const Program& program, absl::Span<const ConstTensorView> inputs) {
  std::vector<TensorType> types;
  for (const ConstTensorView& input : inputs) types.push_back(input.type);
  BERTH_RETURN_IF_ERROR(BindShapes(program.inputs(), types).status());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto address = reinterpret_cast<uintptr_t>(inputs[i].data);
    const auto element_bytes = static_cast<uintptr_t>(DTypeBytes(inputs[i].type.dtype));
    if ((inputs[i].data == nullptr && inputs[i].type.ByteCount() > 0) ||
        address % element_bytes != 0) {
      return InvalidArgument("input {} ('{}'): data is null or not aligned for {}", i,
                             program.inputs()[i].name, DTypeName(inputs[i].type.dtype));
    }
  }
  return absl::OkStatus();
}

Tensor ToTensor(const RunValue& value) {
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
  BERTH_RETURN_IF_ERROR(CheckInputs(*program_, inputs));
  DynamicProgram& dynamic = program_->dynamic();
  RunPlace place;
  place.scratchpad = memory_.scratchpad;
  place.accumulator = memory_.accumulator;
  place.poison = options_.poison_before_run;
  place.workers = {options_.threads, options_.arena != nullptr ? options_.arena : own_arena_.get()};
  place.stop = {&cancel_, options.deadline};
  std::vector<RunValue> values;
  for (const ConstTensorView& input : inputs) values.push_back({input.type, input.data, nullptr});
  DynamicRun run(dynamic, place, options.mode);
  const absl::StatusOr<std::vector<RunValue>> results = run.Run(dynamic.graph(), std::move(values));
  cancel_.store(false, std::memory_order_relaxed);
  if (!results.ok()) return results.status();
  outputs.clear();
  for (const RunValue& result : *results) outputs.push_back(ToTensor(result));
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
