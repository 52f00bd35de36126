#include "runtime/dynamic/dynamic_states.h"

#include <cstring>
#include <utility>

#include "runtime/caller_buffers.h"
#include "runtime/dynamic/bind_shapes.h"

namespace berth {
namespace {

RunValue CopyOf(const ConstTensorView& view) {
  auto tensor = std::make_shared<Tensor>(view.type);
  if (!tensor->bytes().empty()) {
    std::memcpy(tensor->bytes().data(), view.data, tensor->bytes().size());
  }
  return ValueOf(std::move(tensor));
}

}  // namespace

DynamicStates::DynamicStates(const Program& program)
    : program_(program), values_(program.states().size()) {}

void DynamicStates::Reset() {
  for (std::optional<RunValue>& value : values_) value.reset();
}

absl::StatusOr<RunValue> DynamicStates::InitialOf(size_t state,
                                                  absl::Span<const TensorType> callers) const {
  const GraphState& bound = program_.dynamic().graph()->states[state];
  if (bound.initial != nullptr) return ValueOf(bound.initial);
  const TensorInfo& info = program_.bundle().info().inputs[bound.input];
  TensorType type = info.type;
  if (info.has_free_shape) {
    BERTH_ASSIGN_OR_RETURN(const SymbolExtents symbols, BindShapes(program_.inputs(), callers));
    std::vector<int64_t> extents;
    for (const Dim& dim : info.dims) {
      const auto found = symbols.find(dim.symbol);
      const bool is_known = dim.extent >= 0 || (!dim.symbol.empty() && found != symbols.end());
      if (!is_known) break;
      extents.push_back(dim.extent >= 0 ? dim.extent : found->second);
    }
    if (!info.has_declared_rank || extents.size() != info.dims.size()) {
      return InvalidArgument(
          "state '{}' is {}: nothing says how large it is at first; give it an initial value",
          bound.name, DescribeTensor(info));
    }
    BERTH_ASSIGN_OR_RETURN(type.shape, Shape::Create(std::move(extents)));
  }
  return ValueOf(std::make_shared<const Tensor>(std::move(type)));
}

absl::StatusOr<std::vector<RunValue>> DynamicStates::Inputs(
    absl::Span<const ConstTensorView> callers) const {
  const CallersInterface& interface = program_.interface();
  std::vector<TensorType> callers_types;
  for (const ConstTensorView& input : callers) callers_types.push_back(input.type);
  const std::vector<DimRange>& ranges = program_.bundle().info().dynamic->ranges;
  BERTH_RETURN_IF_ERROR(BindShapes(program_.inputs(), callers_types, ranges).status());
  for (size_t i = 0; i < callers.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        CheckBytes("input", i, program_.inputs()[i].name, callers[i].type, callers[i].data));
  }
  std::vector<RunValue> values;
  std::vector<TensorType> types;
  for (const TensorBinding& binding : interface.input_bindings) {
    if (!binding.is_state) {
      const ConstTensorView& input = callers[binding.position];
      values.push_back({input.type, input.data, nullptr, nullptr});
    } else if (values_[binding.position]) {
      values.push_back(*values_[binding.position]);
    } else {
      BERTH_ASSIGN_OR_RETURN(RunValue initial, InitialOf(binding.position, callers_types));
      values.push_back(std::move(initial));
    }
    types.push_back(values.back().type);
  }
  if (values_.empty()) return values;
  BERTH_RETURN_IF_ERROR(BindShapes(program_.bundle().info().inputs, types, ranges).status());
  return values;
}

std::vector<RunValue> DynamicStates::Keep(std::vector<RunValue> results) {
  std::vector<RunValue> callers;
  const std::vector<TensorBinding>& bindings = program_.interface().output_bindings;
  for (size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].is_state && results[i].owner == nullptr) {
      values_[bindings[i].position] = CopyOf(results[i].view());  // the caller's input as it came
    } else if (bindings[i].is_state) {
      values_[bindings[i].position] = std::move(results[i]);
    } else {
      callers.push_back(std::move(results[i]));
    }
  }
  return callers;
}

ConstTensorView DynamicStates::value(size_t state) const {
  return values_[state] ? values_[state]->view() : ConstTensorView();
}

absl::Status DynamicStates::Set(size_t state, const ConstTensorView& value) {
  if (state >= values_.size()) return InvalidArgument("state {} of {}", state, values_.size());
  const GraphState& bound = program_.dynamic().graph()->states[state];
  const TensorInfo& info = program_.bundle().info().inputs[bound.input];
  const std::vector<TensorType> types = {value.type};
  const std::vector<DimRange>& ranges = program_.bundle().info().dynamic->ranges;
  BERTH_RETURN_IF_ERROR(Annotate(BindShapes({&info, 1}, types, ranges).status(),
                                 fmt::format("state '{}'", bound.name)));
  BERTH_RETURN_IF_ERROR(CheckBytes("state", state, bound.name, value.type, value.data));
  values_[state] = CopyOf(value);
  return absl::OkStatus();
}

}  // namespace berth
