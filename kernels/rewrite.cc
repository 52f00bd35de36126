#include "kernels/rewrite.h"

#include <utility>

#include "kernels/op_def.h"

namespace berth {

GraphRewriter::GraphRewriter(Graph& graph, std::vector<Node>& nodes, const Node& origin)
    : graph_(graph), nodes_(nodes), origin_(origin) {}

ValueId GraphRewriter::Constant(Tensor tensor) {
  return graph_.AddConstant(fmt::format("{}/{}", origin_.name, suffix_++), std::move(tensor));
}

ValueId GraphRewriter::ScalarF32(float value) {
  return Constant(Tensor::FromValues<float>(DType::kFloat32, Shape{}, {value}));
}

ValueId GraphRewriter::Int64s(const std::vector<int64_t>& values) {
  return Constant(Tensor::FromValues<int64_t>(DType::kInt64,
                                              Shape{static_cast<int64_t>(values.size())}, values));
}

ValueId GraphRewriter::Apply(OpKind kind, std::vector<ValueId> inputs, Attributes attributes,
                             ValueId result) {
  Node node;
  node.kind = kind;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  return ApplyNode(std::move(node), result);
}

ValueId GraphRewriter::ApplyNode(Node node, ValueId result) {
  if (!status_.ok()) return ValueId::kNone;
  if (node.opset == 0) node.opset = kRewriteOpset;
  if (node.name.empty()) node.name = fmt::format("{}/{}", origin_.name, suffix_++);
  node.outputs = {result};
  auto types = InferNodeTypes(graph_, node);
  if (!types.ok()) {
    status_ = types.status();
    return ValueId::kNone;
  }
  const TensorType& type = (*types)[0];
  if (result == ValueId::kNone) {
    result = graph_.AddValue(node.name, type);
  } else if (Value& value = graph_.at(result); !value.shape_known) {
    value.type = type;
    value.shape_known = true;
  } else if (value.type.shape != type.shape ||
             (value.type.dtype != type.dtype && origin_.tail.empty())) {
    status_ = Internal("{} '{}' expands to {} where '{}' is {}", OpName(origin_.kind), origin_.name,
                       type.ToString(), value.name, value.type.ToString());
    return ValueId::kNone;
  }
  node.outputs = {result};
  nodes_.push_back(std::move(node));
  return result;
}

void GraphRewriter::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void GraphRewriter::Alias(ValueId value, ValueId result) {
  Apply(OpKind::kIdentity, {value}, {}, result);
}

}  // namespace berth
