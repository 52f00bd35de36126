#include "planner/states.h"

#include <algorithm>

#include "planner/onnx/text.h"
#include "runtime/bundle/states.h"

namespace berth {
namespace {

constexpr size_t kNameBytes = 100, kListBytes = 1000;

absl::StatusOr<size_t> Find(const Graph& graph, const std::vector<ValueId>& ids,
                            std::string_view role, const std::string& name) {
  std::string names;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& other = graph.at(ids[i]).name;
    if (other == name) return i;
    names += fmt::format(" '{}'", OneLine(other, kNameBytes));
  }
  return InvalidArgument("the model has no {} '{}', only {}", role, OneLine(name, kNameBytes),
                         OneLine(names, kListBytes));
}

bool IsBound(const std::vector<GraphState>& states, size_t GraphState::*side, size_t position) {
  return std::any_of(states.begin(), states.end(),
                     [&](const GraphState& state) { return state.*side == position; });
}

Tensor InitialOf(const Graph& graph, const GraphState& state) {
  return state.initial ? *state.initial : Tensor(graph.at(graph.inputs[state.input]).type);
}

void EraseMarked(const std::vector<bool>& marked, std::vector<ValueId>& ids) {
  size_t kept = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!marked[i]) ids[kept++] = ids[i];
  }
  ids.resize(kept);
}

}  // namespace

absl::Status BindStates(const std::vector<StateBinding>& bindings, Graph& graph) {
  for (const StateBinding& binding : bindings) {
    GraphState state;
    state.name = binding.input;
    BERTH_ASSIGN_OR_RETURN(state.input, Find(graph, graph.inputs, "input", binding.input));
    BERTH_ASSIGN_OR_RETURN(state.output, Find(graph, graph.outputs, "output", binding.output));
    if (IsBound(graph.states, &GraphState::input, state.input) ||
        IsBound(graph.states, &GraphState::output, state.output)) {
      return InvalidArgument("state '{}' = '{}': one of them belongs to another state",
                             OneLine(binding.input, kNameBytes),
                             OneLine(binding.output, kNameBytes));
    }
    if (binding.initial) state.initial = std::make_shared<const Tensor>(*binding.initial);
    graph.states.push_back(std::move(state));
  }
  return absl::OkStatus();
}

absl::Status CheckStateTypes(const Graph& graph) {
  for (const GraphState& state : graph.states) {
    const TensorType& input = graph.at(graph.inputs[state.input]).type;
    const TensorType& output = graph.at(graph.outputs[state.output]).type;
    const std::string name = OneLine(state.name, kNameBytes);
    if (input != output) {
      return InvalidArgument("state '{}': its input is {}, its output {}", name, input.ToString(),
                             output.ToString());
    }
    if (state.initial && state.initial->type() != input) {
      return InvalidArgument("state '{}': its initial value is {}, its input {}", name,
                             state.initial->type().ToString(), input.ToString());
    }
  }
  return absl::OkStatus();
}

void StartFresh(Graph& graph) {
  std::vector<bool> inputs(graph.inputs.size()), outputs(graph.outputs.size());
  for (const GraphState& state : graph.states) {
    Value& value = graph.at(graph.inputs[state.input]);
    value.constant = std::make_shared<const Tensor>(InitialOf(graph, state));
    inputs[state.input] = outputs[state.output] = true;
  }
  EraseMarked(inputs, graph.inputs);
  EraseMarked(outputs, graph.outputs);
  graph.states.clear();
}

std::vector<StateInfo> DescribeStates(const Graph& graph) {
  std::vector<StateInfo> infos;
  for (const GraphState& state : graph.states) {
    StateInfo info{
        state.name, static_cast<uint32_t>(state.input), static_cast<uint32_t>(state.output), {}};
    if (state.initial) info.initial = PackInitial(state.initial->view());
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace berth
