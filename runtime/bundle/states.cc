#include "runtime/bundle/states.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"

namespace berth {
namespace {

std::vector<TensorBinding> Bind(size_t count, const std::vector<StateInfo>& states,
                                uint32_t StateInfo::*side) {
  std::vector<TensorBinding> bindings(count);
  for (size_t s = 0; s < states.size(); ++s) bindings[states[s].*side] = {true, s};
  size_t next = 0;
  for (TensorBinding& binding : bindings) {
    if (!binding.is_state) binding.position = next++;
  }
  return bindings;
}

std::vector<TensorInfo> Callers(const std::vector<TensorInfo>& tensors,
                                const std::vector<TensorBinding>& bindings) {
  std::vector<TensorInfo> callers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!bindings[i].is_state) callers.push_back(tensors[i]);
  }
  return callers;
}

}  // namespace

CallersInterface InterfaceOf(const BundleContents& info) {
  CallersInterface interface;
  interface.input_bindings = Bind(info.inputs.size(), info.states, &StateInfo::input);
  interface.output_bindings = Bind(info.outputs.size(), info.states, &StateInfo::output);
  interface.inputs = Callers(info.inputs, interface.input_bindings);
  interface.outputs = Callers(info.outputs, interface.output_bindings);
  return interface;
}

const TensorType& StateType(const BundleContents& info, const StateInfo& state) {
  return info.inputs[state.input].type;
}

int64_t StateBytes(const BundleContents& info) {
  int64_t bytes = 0;
  for (const StateInfo& state : info.states) {
    bytes += AlignUp(StateType(info, state).ByteCount(), kStateAlignmentBytes);
  }
  return bytes;
}

absl::Status CheckStates(const BundleContents& info) {
  std::vector<bool> inputs(info.inputs.size()), outputs(info.outputs.size());
  for (size_t s = 0; s < info.states.size(); ++s) {
    const StateInfo& state = info.states[s];
    if (state.input >= inputs.size() || state.output >= outputs.size() || inputs[state.input] ||
        outputs[state.output]) {
      return DataLoss(
          "section 0 (metadata), states {}: input {} of {} or output {} of {} is absent or bound "
          "twice",
          s, state.input, inputs.size(), state.output, outputs.size());
    }
    inputs[state.input] = outputs[state.output] = true;
    const TensorType& type = info.inputs[state.input].type;
    if (type != info.outputs[state.output].type) {
      return DataLoss("section 0 (metadata), states {}: an input {} and an output {}", s,
                      type.ToString(), info.outputs[state.output].type.ToString());
    }
    const auto initial_bytes = static_cast<int64_t>(state.initial.size());
    if (initial_bytes != 0 && initial_bytes != DTypeBytes(type.dtype) &&
        initial_bytes != type.ByteCount()) {
      return DataLoss("section 0 (metadata), states {}: {} initial bytes for {}", s, initial_bytes,
                      type.ToString());
    }
  }
  return absl::OkStatus();
}

std::vector<std::byte> PackInitial(const ConstTensorView& initial) {
  const auto element_bytes = static_cast<size_t>(DTypeBytes(initial.type.dtype));
  const auto size_bytes = static_cast<size_t>(initial.type.ByteCount());
  const std::byte* data = initial.data;
  if (std::all_of(data, data + size_bytes, [](std::byte b) { return b == std::byte{0}; }))
    return {};
  const bool repeats = std::equal(data + element_bytes, data + size_bytes, data);
  return {data, data + (repeats ? element_bytes : size_bytes)};
}

void FillInitial(const StateInfo& state, const TensorView& buffer) {
  const auto size_bytes = static_cast<size_t>(buffer.type.ByteCount());
  if (size_bytes == 0) return;
  if (state.initial.empty()) {
    std::memset(buffer.data, 0, size_bytes);
    return;
  }
  for (size_t at = 0; at < size_bytes; at += state.initial.size()) {
    std::memcpy(buffer.data + at, state.initial.data(), state.initial.size());
  }
}

}  // namespace berth
