#include "runtime/dynamic/split.h"

#include <algorithm>
#include <optional>

#include "kernels/fold/graph_edit.h"

namespace berth {
namespace {

bool IsKnown(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id == ValueId::kNone || graph.at(id).shape_known; });
}

// Numbers values as they are asked for.
class Sources {
 public:
  Sources(const Graph& graph, ValueSource::Kind made_by) : graph_(graph), made_by_(made_by) {
    sources_.resize(graph.values.size());
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      sources_[Index(graph.inputs[i])] = {ValueSource::Kind::kInput, i, nullptr};
    }
  }
  // Where an input, a constant or a result of the part comes from.
  ValueSource Of(ValueId id) {
    const Value& value = graph_.at(id);
    if (value.constant) return {ValueSource::Kind::kConstant, 0, value.constant};
    std::optional<ValueSource>& source = sources_[Index(id)];
    if (!source) {
      source = {made_by_, made_.size(), nullptr};
      made_.push_back(id);
    }
    return *source;
  }
  const std::vector<ValueId>& made() const { return made_; }

 private:
  const Graph& graph_;
  const ValueSource::Kind made_by_;
  std::vector<std::optional<ValueSource>> sources_;
  std::vector<ValueId> made_;  // by the part, in order of use
};

// The nodes [first, ...) that are marked, reading whatever is not theirs as inputs.
struct Rest {
  Graph graph;
  std::vector<ValueId> inputs;                 // ids in the whole
  std::vector<std::optional<size_t>> outputs;  // of each output of the whole: position in the rest
};

Rest TakeRest(const Graph& whole, const std::vector<bool>& taken) {
  Rest rest;
  rest.graph = whole;
  rest.graph.states.clear();
  std::vector<bool> dropped(taken.size());
  std::vector<bool> produced(whole.values.size());
  for (size_t i = 0; i < taken.size(); ++i) {
    dropped[i] = !taken[i];
    for (const ValueId id : whole.nodes[i].outputs) {
      if (taken[i] && id != ValueId::kNone) produced[Index(id)] = true;
    }
  }
  RemoveNodes(rest.graph, dropped);
  std::vector<bool> seen(whole.values.size());
  for (const Node& node : rest.graph.nodes) {
    for (const ValueId id : ReadValues(node)) {
      if (produced[Index(id)] || whole.at(id).constant || seen[Index(id)]) continue;
      seen[Index(id)] = true;
      rest.inputs.push_back(id);
    }
  }
  rest.graph.inputs = rest.inputs;
  rest.graph.outputs.clear();
  for (const ValueId id : whole.outputs) {
    if (!produced[Index(id)]) {
      rest.outputs.push_back(std::nullopt);
      continue;
    }
    rest.outputs.push_back(rest.graph.outputs.size());
    rest.graph.outputs.push_back(id);
  }
  RemoveUnusedValues(rest.graph);
  return rest;
}

// What waits for the first node of the rest.
void SplitFirst(GraphSplit& split) {
  const Graph& rest = *split.rest;
  const Node& first = rest.nodes.front();
  std::vector<bool> taken(rest.nodes.size(), true);
  taken[0] = false;
  Rest after = TakeRest(rest, taken);
  const auto source_of = [&](ValueId id) -> ValueSource {
    const auto made = std::find(first.outputs.begin(), first.outputs.end(), id);
    if (made != first.outputs.end()) {
      return {ValueSource::Kind::kPart, static_cast<size_t>(made - first.outputs.begin()), nullptr};
    }
    const auto input = std::find(rest.inputs.begin(), rest.inputs.end(), id);
    if (input != rest.inputs.end()) {
      return {ValueSource::Kind::kInput, static_cast<size_t>(input - rest.inputs.begin()), nullptr};
    }
    return {ValueSource::Kind::kConstant, 0, rest.at(id).constant};
  };
  for (const ValueId id : after.inputs) split.after_inputs.push_back(source_of(id));
  for (size_t i = 0; i < rest.outputs.size(); ++i) {
    split.after_outputs.push_back(
        after.outputs[i] ? ValueSource{ValueSource::Kind::kRest, *after.outputs[i], nullptr}
                         : source_of(rest.outputs[i]));
  }
  split.after = std::make_shared<const Graph>(std::move(after.graph));
}

Graph MakePart(const Graph& graph, const std::vector<bool>& waits,
               const std::vector<ValueId>& results, std::vector<size_t>& inputs) {
  Graph part = graph;
  part.states.clear();
  RemoveNodes(part, waits);
  part.outputs = results;
  RemoveDeadNodes(part);
  std::vector<bool> read(part.values.size());
  for (const Node& node : part.nodes) {
    for (const ValueId id : ReadValues(node)) read[Index(id)] = true;
  }
  part.inputs.clear();
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!read[Index(graph.inputs[i])]) continue;
    inputs.push_back(i);
    part.inputs.push_back(graph.inputs[i]);
  }
  RemoveUnusedValues(part);
  return part;
}

}  // namespace

GraphSplit SplitKnown(const Graph& graph) {
  GraphSplit split;
  std::vector<bool> waits(graph.nodes.size());
  for (size_t i = 0; i < waits.size(); ++i) waits[i] = !IsKnown(graph, graph.nodes[i]);
  const bool has_rest = std::find(waits.begin(), waits.end(), true) != waits.end();
  Sources sources(graph, ValueSource::Kind::kPart);
  Rest rest;
  if (has_rest) {
    rest = TakeRest(graph, waits);
    for (const ValueId id : rest.inputs) split.rest_inputs.push_back(sources.Of(id));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    split.outputs.push_back(has_rest && rest.outputs[i]
                                ? ValueSource{ValueSource::Kind::kRest, *rest.outputs[i], nullptr}
                                : sources.Of(graph.outputs[i]));
  }
  split.part = MakePart(graph, waits, sources.made(), split.part_inputs);
  if (has_rest) {
    split.rest = std::make_shared<const Graph>(std::move(rest.graph));
    SplitFirst(split);
  }
  return split;
}

}  // namespace berth
