#include "kernels/graph.h"

#include <array>

#include "kernels/control_flow.h"

namespace berth {
namespace {

constexpr std::string_view kOpNames[] = {
#define BERTH_OP(name) #name,
#include "kernels/op_list.inc"
#undef BERTH_OP
};

}  // namespace

std::string_view OpName(OpKind kind) {
  if (IsControlFlow(kind)) return ControlFlowName(kind);
  return kind < OpKind::kCount ? kOpNames[static_cast<size_t>(kind)] : "?";
}

std::optional<OpKind> OpFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kOpNames); ++i) {
    if (kOpNames[i] == name) return static_cast<OpKind>(i);
  }
  return ControlFlowFromName(name);
}

ValueId Graph::AddValue(std::string value_name, TensorType type) {
  const auto id = static_cast<ValueId>(values.size());
  Value& value = values.emplace_back();
  value.name = std::move(value_name);
  value.shape_known = type.dtype != DType::kUndefined;
  value.type = std::move(type);
  return id;
}

ValueId Graph::AddConstant(std::string value_name, Tensor tensor) {
  const ValueId id = AddValue(std::move(value_name), tensor.type());
  at(id).constant = std::make_shared<const Tensor>(std::move(tensor));
  return id;
}

std::vector<ValueId> ReadValues(const Node& node) {
  std::vector<ValueId> read;
  const auto append = [&read](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != ValueId::kNone) read.push_back(id);
    }
  };
  append(node.inputs);
  for (const FusedOp& fused : node.tail) append(fused.operands);
  return read;
}

GraphUses ComputeUses(const Graph& graph) {
  GraphUses uses;
  uses.readers.resize(graph.values.size());
  uses.producer.assign(graph.values.size(), -1);
  for (int position = 0; position < static_cast<int>(graph.nodes.size()); ++position) {
    const Node& node = graph.nodes[static_cast<size_t>(position)];
    for (const ValueId id : ReadValues(node)) {
      std::vector<int>& readers = uses.readers[Index(id)];
      // A node that reads a value twice is one reader.
      if (readers.empty() || readers.back() != position) readers.push_back(position);
    }
    for (const ValueId id : node.outputs) {
      if (id != ValueId::kNone) uses.producer[Index(id)] = position;
    }
  }
  return uses;
}

}  // namespace berth
