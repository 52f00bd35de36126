#include "planner/passes/quantized_graph.h"

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"

namespace berth {

std::optional<Tensor> SignedBytes(const Tensor* stored) {
  if (stored == nullptr || stored->dtype() != DType::kUInt8) return std::nullopt;
  Tensor result(TensorType{DType::kInt8, stored->shape()});
  const absl::Span<const uint8_t> from = stored->view().Values<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    result.Values<int8_t>()[i] = static_cast<int8_t>(from[i] - 128);
  }
  return result;
}

QuantizedGraph::QuantizedGraph(const Graph& graph)
    : graph_(graph), maker_(ComputeUses(graph).producer), reader_(SingleReaders(graph)) {}

const Node* QuantizedGraph::MakerOf(ValueId id) const {
  if (id == ValueId::kNone || Index(id) >= maker_.size() || maker_[Index(id)] < 0) return nullptr;
  return &graph_.nodes[static_cast<size_t>(maker_[Index(id)])];
}

std::optional<DequantizedValue> QuantizedGraph::Dequantized(ValueId id) const {
  const Node* maker = MakerOf(id);
  if (maker == nullptr || maker->kind != OpKind::kDequantizeLinear || !maker->tail.empty() ||
      HasReadScales(maker->attributes)) {
    return std::nullopt;
  }
  const NodeCall call(graph_, *maker);
  const auto by = KnownTensorQuantization(call.call());
  if (!by || !IsQuantizedDType(call.call().input(0).dtype)) return std::nullopt;
  if (call.call().output().dtype != DType::kFloat32) return std::nullopt;
  return DequantizedValue{maker->inputs[0], *by, maker_[Index(id)]};
}

std::optional<TensorQuantization> QuantizedGraph::QuantizerOf(const Node& node) const {
  if (node.kind != OpKind::kQuantizeLinear || HasReadScales(node.attributes)) return std::nullopt;
  const NodeCall call(graph_, node);
  if (call.call().input(0).dtype != DType::kFloat32) return std::nullopt;
  return KnownTensorQuantization(call.call());
}

}  // namespace berth
