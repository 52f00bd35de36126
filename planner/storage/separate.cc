// Copies that make every output and every concat operand a value that can own its bytes.
#include <set>

#include "planner/storage/storage.h"

namespace berth {
namespace {

// A Reshape to the same shape: storage decides whether it is a view or a real copy.
ValueId InsertCopy(Graph& graph, std::vector<Node>& nodes, ValueId source,
                   const std::string& name) {
  const TensorType type = graph.at(source).type;
  std::vector<int64_t> extents = type.shape.extents();
  const ValueId shape = graph.AddConstant(
      name + "/shape", Tensor::FromValues<int64_t>(
                           DType::kInt64, Shape{static_cast<int64_t>(extents.size())}, extents));
  Node copy;
  copy.kind = OpKind::kReshape;
  copy.name = name;
  copy.opset = 13;
  copy.inputs = {source, shape};
  copy.outputs = {graph.AddValue(name, type)};
  graph.at(copy.outputs[0]).shape_known = true;
  nodes.push_back(copy);
  return copy.outputs[0];
}

}  // namespace

void SeparateOutputs(Graph& graph) {
  const GraphUses uses = ComputeUses(graph);
  std::set<ValueId> taken;
  for (ValueId& output : graph.outputs) {
    const bool produced = uses.producer[Index(output)] >= 0;
    if (produced && taken.insert(output).second) continue;
    output = InsertCopy(graph, graph.nodes, output, graph.at(output).name + "/output");
    taken.insert(output);
  }
}

void SeparateConcatOperands(Graph& graph) {
  std::set<ValueId> taken(graph.outputs.begin(), graph.outputs.end());
  taken.insert(graph.inputs.begin(), graph.inputs.end());
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (node.kind == OpKind::kConcat) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId& operand = node.inputs[i];
        const Value& value = graph.at(operand);
        if (value.type.shape.ElementCount() == 0) continue;
        if (value.constant == nullptr && taken.insert(operand).second) continue;
        operand = InsertCopy(graph, nodes, operand, node.name + "/operand_" + std::to_string(i));
        taken.insert(operand);
      }
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace berth
