#include "kernels/fold/graph_edit.h"

#include <algorithm>
#include <set>

#include "kernels/rewrite.h"

namespace berth {

void ReplaceValues(Graph& graph, const Replacements& replacements) {
  const auto follow = [&](ValueId& id) {
    while (id != ValueId::kNone && Index(id) < replacements.size() &&
           replacements[Index(id)] != ValueId::kNone) {
      id = replacements[Index(id)];
    }
  };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) follow(id);
    for (FusedOp& fused : node.tail) {
      for (ValueId& id : fused.operands) follow(id);
    }
  }
  for (ValueId& id : graph.outputs) follow(id);
}

void RemoveNodes(Graph& graph, const std::vector<bool>& marked) {
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (marked[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

void RemoveDeadNodes(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  for (const ValueId id : graph.outputs) read[Index(id)] = true;
  std::vector<bool> dead(graph.nodes.size());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    dead[i] = std::none_of(node.outputs.begin(), node.outputs.end(),
                           [&](ValueId id) { return id != ValueId::kNone && read[Index(id)]; });
    if (dead[i]) continue;
    for (const ValueId id : ReadValues(node)) read[Index(id)] = true;
  }
  RemoveNodes(graph, dead);
  DropUnreadOutputs(graph);
}

void DropUnreadOutputs(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  for (const ValueId id : graph.outputs) read[Index(id)] = true;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : ReadValues(node)) read[Index(id)] = true;
  }
  for (Node& node : graph.nodes) {
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      ValueId& id = node.outputs[i];
      if (id != ValueId::kNone && !read[Index(id)]) id = ValueId::kNone;
    }
  }
}

void RemoveUnusedValues(Graph& graph) {
  std::vector<bool> used(graph.values.size());
  const auto visit = [&](auto&& apply) {
    for (ValueId& id : graph.inputs) apply(id);
    for (ValueId& id : graph.outputs) apply(id);
    for (Node& node : graph.nodes) {
      for (ValueId& id : node.inputs) apply(id);
      for (ValueId& id : node.outputs) apply(id);
      for (FusedOp& fused : node.tail) {
        for (ValueId& id : fused.operands) apply(id);
      }
    }
  };
  visit([&](ValueId id) {
    if (id != ValueId::kNone) used[Index(id)] = true;
  });
  std::vector<ValueId> renumbered(graph.values.size(), ValueId::kNone);
  size_t kept = 0;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept);
    if (kept != i) graph.values[kept] = std::move(graph.values[i]);
    ++kept;
  }
  graph.values.resize(kept);
  visit([&](ValueId& id) {
    if (id != ValueId::kNone) id = renumbered[Index(id)];
  });
}

bool IsGraphOutput(const Graph& graph, ValueId id) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
}

std::vector<int> SingleReaders(const Graph& graph) {
  constexpr int kNobody = -1, kSeveral = -2;
  std::vector<int> reader(graph.values.size(), kNobody);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : ReadValues(graph.nodes[i])) {
      int& entry = reader[Index(id)];
      entry = entry == kNobody ? static_cast<int>(i) : kSeveral;
    }
  }
  for (const ValueId id : graph.outputs) reader[Index(id)] = kSeveral;
  for (int& entry : reader) entry = std::max(entry, kNobody);
  return reader;
}

NameSource::NameSource(const Graph& graph) {
  for (const Value& value : graph.values) next_.emplace(value.name, 1);
  for (const Node& node : graph.nodes) next_.emplace(node.name, 1);
}

std::string NameSource::Fresh(const std::string& name) {
  if (next_.emplace(name, 1).second) return name;
  while (true) {
    std::string numbered = fmt::format("{}_{}", name, next_[name]++);
    if (next_.emplace(numbered, 1).second) return numbered;
  }
}

Node MakeReshape(Graph& graph, std::string name, ValueId input, ValueId output) {
  Node node;
  node.kind = OpKind::kReshape;
  node.opset = kRewriteOpset;
  node.attributes.Set("allowzero", int64_t{1});  // every extent is meant as it stands
  const std::vector<int64_t> extents = graph.at(output).type.shape.extents();
  node.inputs = {input, AddInt64s(graph, name + "/shape", extents)};
  node.outputs = {output};
  node.name = std::move(name);
  return node;
}

Node MakeTranspose(std::string name, ValueId input, ValueId output,
                   const std::vector<int64_t>& perm) {
  Node node;
  node.kind = OpKind::kTranspose;
  node.opset = kRewriteOpset;
  node.name = std::move(name);
  node.attributes.Set("perm", perm);
  node.inputs = {input};
  node.outputs = {output};
  return node;
}

ValueId AddInt64s(Graph& graph, const std::string& name, const std::vector<int64_t>& values) {
  return graph.AddConstant(
      name, Tensor::FromValues<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())},
                                        values));
}

}  // namespace berth
