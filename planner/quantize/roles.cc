#include "planner/quantize/roles.h"

#include <algorithm>

#include "kernels/op_def.h"
#include "kernels/ops/quantization.h"
#include "kernels/ops/reduce_axes.h"
#include "planner/passes/quantized_movement.h"

namespace berth {
namespace {

bool IsFloat32(const Graph& graph, ValueId id) {
  return id != ValueId::kNone && graph.at(id).type.dtype == DType::kFloat32;
}

bool IsConstant(const Graph& graph, const Node& node, size_t input) {
  return node.inputs.size() > input && node.inputs[input] != ValueId::kNone &&
         graph.at(node.inputs[input]).constant != nullptr;
}

// Convolutions need known weights; products of matrices take two activations as well.
bool CanBeProduct(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::kConv || node.kind == OpKind::kConvTranspose) {
    return IsConstant(graph, node, 1);
  }
  const auto rank = [&](size_t i) { return graph.at(node.inputs[i]).type.shape.rank(); };
  if (rank(0) < 2 || rank(1) < 2) return false;
  return node.kind != OpKind::kGemm ||
         (node.attributes.Float("alpha", 1) == 1.0f && node.attributes.Float("beta", 1) == 1.0f &&
          IsConstant(graph, node, 1));
}

// A pad of zeros is one of zero points.
bool PadsWithZeros(const Graph& graph, const Node& node) {
  if (node.attributes.String("mode", "constant") != "constant") return true;
  if (node.inputs.size() < 3 || node.inputs[2] == ValueId::kNone) return true;
  return SingleFloat(graph.at(node.inputs[2]).constant.get()) == 0.0f;
}

bool CanMove(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::kPad) return PadsWithZeros(graph, node);
  // Positions are no values.
  return node.kind != OpKind::kArgMax && node.kind != OpKind::kArgMin;
}

bool IsComputing(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kNeg:
    case OpKind::kAbs:
    case OpKind::kRelu:
    case OpKind::kLeakyRelu:
    case OpKind::kPRelu:
    case OpKind::kClip:
    case OpKind::kSigmoid:
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish:
    case OpKind::kTanh:
    case OpKind::kElu:
    case OpKind::kGelu:
    case OpKind::kErf:
    case OpKind::kSoftplus:
    case OpKind::kSoftmax:
    case OpKind::kAveragePool:
    case OpKind::kGlobalAveragePool:
    case OpKind::kLRN:
    case OpKind::kResize:
    case OpKind::kUpsample:
      return true;
    default:
      return false;
  }
}

// A mean over both axes of an image is a pool. Other means and sums, and squares, are steps of
// normalizations, whose quotients do not bear rounding.
bool IsImageMean(const Graph& graph, const Node& node) {
  const Shape& from = graph.at(node.inputs[0]).type.shape;
  const NodeCall call(graph, node);
  const auto axes = ResolveReducedAxes(call.call());
  if (from.rank() != 4 || !axes.ok()) return false;
  const std::vector<bool> nchw = {false, false, true, true}, nhwc = {false, true, true, false};
  return axes->reduced == nchw || axes->reduced == nhwc;
}

bool IsSquare(const Node& node) {
  return node.kind == OpKind::kMul && node.inputs[0] == node.inputs[1];
}

}  // namespace

bool IsProduct(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kGemm ||
         kind == OpKind::kMatMul;
}

QuantizeRole RoleOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !IsFloat32(graph, node.inputs[0]) ||
      !IsFloat32(graph, node.outputs[0])) {
    return QuantizeRole::kFloat;
  }
  if (IsProduct(node.kind)) {
    return CanBeProduct(graph, node) ? QuantizeRole::kProduct : QuantizeRole::kFloat;
  }
  if (MovedInputCount(node) > 0) {
    return CanMove(graph, node) ? QuantizeRole::kMove : QuantizeRole::kFloat;
  }
  if (node.kind == OpKind::kDiv) {
    return IsConstant(graph, node, 1) ? QuantizeRole::kCompute : QuantizeRole::kFloat;
  }
  const bool computes = node.kind == OpKind::kReduceMean
                            ? IsImageMean(graph, node)
                            : IsComputing(node.kind) && !IsSquare(node);
  return computes ? QuantizeRole::kCompute : QuantizeRole::kFloat;
}

size_t DataInputCount(const Graph& graph, const Node& node) {
  if (const size_t moved = MovedInputCount(node); moved > 0) return moved;
  switch (node.kind) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
    case OpKind::kGemm:
      return 1;
    case OpKind::kClip:
    case OpKind::kResize:
    case OpKind::kUpsample:
    case OpKind::kReduceMean:
      return 1;
    default:
      break;
  }
  size_t count = 0;
  while (count < node.inputs.size() && IsFloat32(graph, node.inputs[count])) ++count;
  return count;
}

}  // namespace berth
