#include "kernels/fold/shape_arithmetic.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "kernels/ops/axis_map.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kMaxElements = 64;

// All operands as integers; nothing when one is not a short list of known integers.
std::optional<std::vector<Ints>> Operands(const Graph& graph, const Node& node) {
  std::vector<Ints> operands;
  for (const ValueId id : node.inputs) {
    const Tensor* tensor = id == ValueId::kNone ? nullptr : graph.at(id).constant.get();
    if (tensor == nullptr || tensor->shape().rank() > 1 ||
        tensor->shape().ElementCount() > kMaxElements) {
      return std::nullopt;
    }
    auto values = ToInt64Values(tensor->view());
    if (!values.ok()) return std::nullopt;
    operands.push_back(*std::move(values));
  }
  return operands;
}

std::optional<int64_t> Combine(OpKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case OpKind::kAdd:
      return CheckedAdd(a, b);
    case OpKind::kSub:
      if (b == std::numeric_limits<int64_t>::min()) return std::nullopt;
      return CheckedAdd(a, -b);
    case OpKind::kMul:
      return CheckedMul(a, b);
    case OpKind::kDiv:
      if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
      return a / b;
    case OpKind::kMax:
      return std::max(a, b);
    case OpKind::kMin:
      return std::min(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<Ints> Pairwise(OpKind kind, const std::vector<Ints>& operands, size_t count) {
  if (operands.size() != 2) return std::nullopt;
  Ints result;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [i](const Ints& list) { return list[list.size() == 1 ? 0 : i]; };
    const auto value = Combine(kind, at(operands[0]), at(operands[1]));
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

std::optional<Ints> Gathered(const Ints& data, const Ints& indices) {
  Ints result;
  const auto extent = static_cast<int64_t>(data.size());
  for (const int64_t index : indices) {
    const int64_t position = index < 0 ? index + extent : index;
    if (position < 0 || position >= extent)
      return std::nullopt;  // the evaluator's or runtime's error
    result.push_back(data[static_cast<size_t>(position)]);
  }
  return result;
}

std::optional<Ints> Sliced(const Graph& graph, const Node& node, const Ints& data) {
  const NodeCall call(graph, node);
  const auto map = SliceMap(call.call());
  if (!map.ok() || map->axes.size() != 1) return std::nullopt;
  Ints result;
  for (const AxisSegment& segment : map->axes[0]) {
    for (int64_t i = 0; i < segment.count; ++i) {
      result.push_back(data[static_cast<size_t>(segment.source + i * segment.step)]);
    }
  }
  return result;
}

std::optional<Ints> Compute(const Graph& graph, const Node& node, const std::vector<Ints>& operands,
                            size_t count) {
  switch (node.kind) {
    case OpKind::kConcat: {
      Ints all;
      for (const Ints& list : operands) all.insert(all.end(), list.begin(), list.end());
      return all;
    }
    case OpKind::kCast:
      return operands[0];
    case OpKind::kNeg: {
      Ints negated;
      for (const int64_t value : operands[0]) {
        if (value == std::numeric_limits<int64_t>::min()) return std::nullopt;
        negated.push_back(-value);
      }
      return negated;
    }
    case OpKind::kGather:
      if (graph.at(node.inputs[0]).type.shape.rank() != 1) return std::nullopt;
      return Gathered(operands[0], operands[1]);
    case OpKind::kSlice:
      return Sliced(graph, node, operands[0]);
    default:
      return Pairwise(node.kind, operands, count);
  }
}

std::optional<Tensor> ToTensor(const Ints& values, const TensorType& type) {
  Tensor tensor(type);
  bool fits = true;
  const auto fill = [&]<typename T>() {
    absl::Span<T> out = tensor.Values<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = static_cast<T>(values[i]);
      fits = fits && int64_t{out[i]} == values[i];
    }
  };
  if (type.dtype == DType::kInt64) {
    fill.operator()<int64_t>();
  } else if (type.dtype == DType::kInt32) {
    fill.operator()<int32_t>();
  } else {
    return std::nullopt;
  }
  if (!fits) return std::nullopt;
  return tensor;
}

// The output lengths are those of the inferred types.
std::optional<std::vector<Tensor>> SplitResults(const Graph& graph, const Node& node,
                                                const Ints& data) {
  std::vector<Tensor> results;
  auto begin = data.begin();
  for (const ValueId id : node.outputs) {
    if (id == ValueId::kNone) return std::nullopt;
    const TensorType& type = graph.at(id).type;
    const auto end = begin + type.shape.ElementCount();
    auto part = ToTensor(Ints(begin, end), type);
    if (!part) return std::nullopt;
    results.push_back(*std::move(part));
    begin = end;
  }
  return results;
}

bool IsShapeArithmetic(OpKind kind) {
  switch (kind) {
    case OpKind::kGather:
    case OpKind::kConcat:
    case OpKind::kSlice:
    case OpKind::kSplit:
    case OpKind::kCast:
    case OpKind::kNeg:
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kMax:
    case OpKind::kMin:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<Tensor>> ShapeArithmetic(const Graph& graph, const Node& node) {
  if (!IsShapeArithmetic(node.kind)) return std::nullopt;
  const TensorType& type = graph.at(node.outputs[0]).type;
  if (type.shape.rank() > 1 || type.shape.ElementCount() > kMaxElements) return std::nullopt;
  const auto operands = Operands(graph, node);
  if (!operands) return std::nullopt;
  if (node.kind == OpKind::kSplit) return SplitResults(graph, node, (*operands)[0]);
  if (node.outputs.size() != 1) return std::nullopt;
  const auto count = static_cast<size_t>(type.shape.ElementCount());
  const auto values = Compute(graph, node, *operands, count);
  if (!values || values->size() != count) return std::nullopt;
  auto result = ToTensor(*values, type);
  if (!result) return std::nullopt;
  std::vector<Tensor> results;
  results.push_back(*std::move(result));
  return results;
}

}  // namespace berth
