#include "planner/passes/quantized_reads.h"

#include <algorithm>
#include <cmath>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"
#include "planner/passes/quantized_graph.h"

namespace berth {
namespace {

// Ops that take their data in through TileBuilder::Load and size their tiles by cost alone.
bool ReadsTiles(const Node& node) {
  if (GetOpDef(node.kind).elementwise) return true;
  switch (node.kind) {
    case OpKind::kAveragePool:
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kResize:
    case OpKind::kUpsample:
      return true;
    default:
      return false;
  }
}

// f(s x) = s f(x).
bool IsHomogeneous(OpKind kind) {
  return kind == OpKind::kAveragePool || kind == OpKind::kReduceMean || kind == OpKind::kReduceSum;
}

// Sums of the stored integers are exact in float32, those of scaled ones are not, and means often
// fall half between two results: both scales go into the QuantizeLinear behind.
void ScaleBehind(const QuantizedGraph& quantized, Graph& graph, Node& node) {
  if (!IsHomogeneous(node.kind) || !node.tail.empty()) return;
  const auto source = quantized.Dequantized(node.inputs[0]);
  const int reader = quantized.OnlyReader(node.outputs[0]);
  if (!source || reader < 0) return;
  Node& quantize = graph.nodes[static_cast<size_t>(reader)];
  const auto by = quantized.QuantizerOf(quantize);
  if (!by || quantize.inputs[0] != node.outputs[0]) return;
  const float ratio = by->scale / source->by.scale;
  if (!std::isnormal(ratio)) return;
  SetReadScale(node.attributes, 0, {1.0f, source->by.zero_point});
  node.inputs[0] = source->stored;
  quantize.inputs[1] =
      graph.AddConstant(NameSource(graph).Fresh(quantize.name + "/ratio"),
                        Tensor::FromValues<float>(DType::kFloat32, Shape{}, {ratio}));
}

void ReadStored(const QuantizedGraph& quantized, Node& node) {
  if (!ReadsTiles(node) || !node.tail.empty()) return;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i];
    if (value == ValueId::kNone) continue;
    const auto source = quantized.Dequantized(value);
    // The tile builder knows one form of each value that a node reads.
    if (!source || std::count(node.inputs.begin(), node.inputs.end(), source->stored) > 0) continue;
    for (size_t j = i; j < node.inputs.size(); ++j) {
      if (node.inputs[j] != value) continue;
      SetReadScale(node.attributes, j, {source->by.scale, source->by.zero_point});
      node.inputs[j] = source->stored;
    }
  }
}

}  // namespace

absl::Status ReadQuantized(Graph& graph) {
  const QuantizedGraph quantized(graph);
  for (Node& node : graph.nodes) ScaleBehind(quantized, graph, node);
  for (Node& node : graph.nodes) ReadStored(quantized, node);
  RemoveDeadNodes(graph);
  return absl::OkStatus();
}

}  // namespace berth
