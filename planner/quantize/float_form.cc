#include "planner/quantize/float_form.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/contrib_ops.h"
#include "kernels/fold/fold_constants.h"
#include "kernels/fold/graph_edit.h"
#include "kernels/rewrite.h"
#include "planner/onnx/modern_ops.h"
#include "planner/passes/eliminate_identities.h"
#include "planner/passes/expand_ops.h"
#include "planner/passes/fold_affine.h"
#include "planner/passes/fold_pad.h"
#include "planner/quantize/roles.h"

namespace berth {
namespace {

bool IsQuantizedOp(OpKind kind) {
  switch (kind) {
    case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear:
    case OpKind::kDynamicQuantizeLinear:
    case OpKind::kConvInteger:
    case OpKind::kMatMulInteger:
    case OpKind::kQLinearConv:
    case OpKind::kQLinearMatMul:
      return true;
    default:
      return IsContribOp(kind);
  }
}

absl::Status CheckNotQuantized(const Graph& graph) {
  int count = 0;
  const Node* first = nullptr;
  for (const Node& node : graph.nodes) {
    if (!IsQuantizedOp(node.kind)) continue;
    if (count++ == 0) first = &node;
  }
  if (first == nullptr) return absl::OkStatus();
  return InvalidArgument("the model is quantized already: {} of its {} nodes are, first {} '{}'",
                         count, graph.nodes.size(), OpName(first->kind), first->name);
}

absl::Status CheckHasProducts(const Graph& graph) {
  std::map<DType, int> by_dtype;
  for (const Node& node : graph.nodes) {
    if (IsProduct(node.kind)) ++by_dtype[graph.at(node.outputs[0]).type.dtype];
  }
  if (by_dtype.contains(DType::kFloat32)) return absl::OkStatus();
  std::string others;
  for (const auto& [dtype, count] : by_dtype) {
    others += fmt::format("; {} of {}", count, DTypeName(dtype));
  }
  return InvalidArgument(
      "nothing to quantize: none of the {} nodes is a Conv, ConvTranspose, Gemm or MatMul of "
      "float32{}",
      graph.nodes.size(), others);
}

// Every output under its own name, made by a node, once.
void NameOutputs(const std::vector<std::string>& names, Graph& graph) {
  const GraphUses uses = ComputeUses(graph);
  std::set<ValueId> taken(graph.inputs.begin(), graph.inputs.end());
  for (size_t i = 0; i < names.size(); ++i) {
    ValueId& output = graph.outputs[i];
    if (uses.producer[Index(output)] < 0 || !taken.insert(output).second) {
      Node copy;
      copy.kind = OpKind::kIdentity;
      copy.name = names[i];
      copy.opset = kRewriteOpset;
      copy.inputs = {output};
      copy.outputs = {graph.AddValue(names[i], graph.at(output).type)};
      output = copy.outputs[0];
      graph.nodes.push_back(std::move(copy));
    }
    graph.at(output).name = names[i];
  }
}

}  // namespace

absl::StatusOr<Graph> ToFloatForm(Graph graph, const ConstantEvaluator& evaluator) {
  BERTH_RETURN_IF_ERROR(CheckNotQuantized(graph));
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs) names.push_back(graph.at(id).name);
  BERTH_RETURN_IF_ERROR(FoldConstants(graph, evaluator));
  BERTH_RETURN_IF_ERROR(EliminateIdentities(graph));
  BERTH_RETURN_IF_ERROR(EliminateDead(graph));
  BERTH_RETURN_IF_ERROR(ExpandOps(graph, ExpandScope::kPortable));
  BERTH_RETURN_IF_ERROR(FoldConstants(graph, evaluator));
  BERTH_RETURN_IF_ERROR(EliminateIdentities(graph));
  BERTH_RETURN_IF_ERROR(FoldPad(graph));
  BERTH_RETURN_IF_ERROR(FoldAffine(graph));
  BERTH_RETURN_IF_ERROR(MergeReshapes(graph));
  BERTH_RETURN_IF_ERROR(ModernizeOps(graph));
  BERTH_RETURN_IF_ERROR(EliminateDead(graph));
  BERTH_RETURN_IF_ERROR(CheckHasProducts(graph));
  NameOutputs(names, graph);
  if (absl::Status status = VerifyGraph(graph); !status.ok()) {
    return Internal("the float form does not verify: {}", ToStd(status.message()));
  }
  return graph;
}

}  // namespace berth
