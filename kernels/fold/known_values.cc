#include "kernels/fold/known_values.h"

#include <algorithm>

#include "kernels/fold/shape_arithmetic.h"
#include "kernels/op_def.h"
#include "kernels/ops/range.h"

namespace berth {
namespace {

const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == ValueId::kNone) return nullptr;
  return graph.at(node.inputs[i]).constant.get();
}

// The extents, or those in [start, end) from opset 15; the result's length is known already.
Tensor ShapeResult(const Graph& graph, const Node& node) {
  const Shape& shape = graph.at(node.inputs[0]).type.shape;
  const int64_t rank = shape.rank();
  int64_t start = node.opset >= 15 ? node.attributes.Int("start", 0) : 0;
  if (start < 0) start += rank;
  start = std::clamp<int64_t>(start, 0, rank);
  const TensorType& type = graph.at(node.outputs[0]).type;
  const auto extents = absl::MakeConstSpan(shape.extents());
  return Tensor::FromValues<int64_t>(
      DType::kInt64, type.shape,
      extents.subspan(static_cast<size_t>(start), static_cast<size_t>(type.shape[0])));
}

Tensor SameBytes(const Tensor& source, const TensorType& type) {
  Tensor result(type);
  std::copy(source.bytes().begin(), source.bytes().end(), result.bytes().begin());
  return result;
}

Tensor Filled(const Tensor* element, const TensorType& type) {
  Tensor result(type);
  if (element == nullptr) return result;  // zeros
  const absl::Span<const std::byte> pattern = element->bytes();
  const absl::Span<std::byte> bytes = result.bytes();
  for (size_t i = 0; i < bytes.size(); i += pattern.size()) {
    std::copy(pattern.begin(), pattern.end(), bytes.begin() + static_cast<ptrdiff_t>(i));
  }
  return result;
}

std::optional<Tensor> ConstantResult(const Node& node, const TensorType& type) {
  const Attributes& attributes = node.attributes;
  if (const Tensor* value = attributes.TensorOrNull("value")) return *value;
  if (attributes.Has("value_float") || attributes.Has("value_floats")) {
    std::vector<float> values = attributes.Floats("value_floats");
    if (!attributes.Has("value_floats")) values = {attributes.Float("value_float", 0)};
    return Tensor::FromValues<float>(DType::kFloat32, type.shape, values);
  }
  if (attributes.Has("value_int") || attributes.Has("value_ints")) {
    std::vector<int64_t> values = attributes.Ints("value_ints");
    if (!attributes.Has("value_ints")) values = {attributes.Int("value_int", 0)};
    return Tensor::FromValues<int64_t>(DType::kInt64, type.shape, values);
  }
  return std::nullopt;
}

std::optional<Tensor> KnownResult(const Graph& graph, const Node& node) {
  const TensorType& type = graph.at(node.outputs[0]).type;
  const Tensor* first = ConstantInput(graph, node, 0);
  switch (node.kind) {
    case OpKind::kShape:
      return ShapeResult(graph, node);
    case OpKind::kRange: {
      const NodeCall call(graph, node);
      return RangeValues(call.call(), type);
    }
    case OpKind::kSize:
      return Tensor::FromValues<int64_t>(DType::kInt64, type.shape,
                                         {graph.at(node.inputs[0]).type.shape.ElementCount()});
    case OpKind::kConstant:
      return ConstantResult(node, type);
    case OpKind::kConstantOfShape:
      if (first == nullptr) return std::nullopt;
      return Filled(node.attributes.TensorOrNull("value"), type);
    case OpKind::kIdentity:
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
      if (first == nullptr) return std::nullopt;
      return SameBytes(*first, type);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Tensor>> KnownResults(const Graph& graph, const Node& node) {
  if (!node.tail.empty()) return std::nullopt;
  if (auto results = ShapeArithmetic(graph, node)) return results;
  if (node.outputs.size() != 1) return std::nullopt;
  std::optional<Tensor> result = KnownResult(graph, node);
  if (!result) return std::nullopt;
  std::vector<Tensor> results;
  results.push_back(*std::move(result));
  return results;
}

}  // namespace berth
