#include "planner/passes/half_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/quantized_product.h"
#include "kernels/read_scale.h"

namespace berth {
namespace {

// The exponent of a Pow that does not enlarge: a known root or the base itself.
bool IsRoot(const Graph& graph, ValueId exponent) {
  const Tensor* known = graph.at(exponent).constant.get();
  if (known == nullptr || known->shape().ElementCount() != 1) return false;
  const auto values = ToFloatValues(known->view());
  return values.ok() && (*values)[0] > 0 && (*values)[0] <= 1;
}

}  // namespace

std::vector<size_t> DataOperands(const Graph& graph, const Node& node) {
  const bool takes_first = node.kind == OpKind::kResize || node.kind == OpKind::kUpsample;
  const size_t most = takes_first ? 1 : IsMatrixProduct(node.kind) ? 2 : node.inputs.size();
  std::vector<size_t> operands;
  for (size_t i = 0; i < std::min(most, node.inputs.size()); ++i) {
    const ValueId id = node.inputs[i];
    if (id != ValueId::kNone && graph.at(id).type.dtype == DType::kFloat32) operands.push_back(i);
  }
  return operands;
}

bool MovesOnly(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity:
    case OpKind::kConcat:
    case OpKind::kSplit:
    case OpKind::kSlice:
    case OpKind::kPad:
    case OpKind::kTranspose:
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kGather:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
      return true;
    default:
      return false;
  }
}

bool IsQuantized(const Node& node) {
  return node.kind == OpKind::kQuantizeLinear || node.kind == OpKind::kDequantizeLinear ||
         node.kind == OpKind::kDynamicQuantizeLinear || IsQuantizedProduct(node) ||
         HasReadScales(node.attributes);
}

bool IsMatrixProduct(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kMatMul;
}

bool Widens(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case OpKind::kExp:
    case OpKind::kTan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kReduceProd:
    case OpKind::kReduceSumSquare:
      return true;
    default:
      break;
  }
  if (node.kind == OpKind::kPow) return !IsRoot(graph, node.inputs[1]);
  return node.kind == OpKind::kMul && node.inputs[0] == node.inputs[1];
}

bool KeepsWide(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kNeg:
    case OpKind::kAbs:
    case OpKind::kRelu:
    case OpKind::kLeakyRelu:
    case OpKind::kPRelu:
    case OpKind::kWhere:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kRound:
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kReduceL1:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return true;
    default:
      return MovesOnly(kind);
  }
}

bool NeedsExactOperand(OpKind kind) {
  return kind == OpKind::kSin || kind == OpKind::kCos || kind == OpKind::kTan ||
         kind == OpKind::kMod;
}

bool IsFloat32Only(OpKind kind) { return kind == OpKind::kNonMaxSuppression; }

bool HoldsLargeIntegers(DType dtype) { return IsInteger(dtype) && DTypeBytes(dtype) > 1; }

HalfRange RangeOfHalf(DType dtype) {
  if (dtype == DType::kFloat16) return {65504.0f, 0x1p-14f};
  return {0x1.fep127f, 0x1p-126f};
}

namespace {

// What `dtype` makes of a float.
float Rounded(float value, DType dtype) {
  return dtype == DType::kFloat16 ? static_cast<float>(Half(value))
                                  : static_cast<float>(BFloat(value));
}

}  // namespace

std::string WhyNotHalf(const Tensor& constant, DType dtype, bool minds_small) {
  float largest = 0;
  for (const float value : constant.Values<float>()) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const HalfRange range = RangeOfHalf(dtype);
  if (std::isinf(Rounded(largest, dtype))) {
    return fmt::format("it holds {:.9g}, {} ends at {:.9g}", largest, DTypeName(dtype),
                       range.largest);
  }
  if (minds_small && largest > 0 && largest < range.smallest_normal) {
    return fmt::format("it holds at most {:.9g}, {} loses digits below {:.3g}", largest,
                       DTypeName(dtype), range.smallest_normal);
  }
  return "";
}

Tensor RoundToHalf(const Tensor& constant, DType dtype) {
  Tensor rounded(TensorType{dtype, constant.shape()});
  const absl::Span<const float> from = constant.Values<float>();
  if (dtype == DType::kFloat16) {
    std::transform(from.begin(), from.end(), rounded.Values<Half>().begin(),
                   [](float value) { return Half(value); });
  } else {
    std::transform(from.begin(), from.end(), rounded.Values<BFloat>().begin(),
                   [](float value) { return BFloat(value); });
  }
  return rounded;
}

}  // namespace berth
