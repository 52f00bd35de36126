#include "kernels/reference/reference.h"

#include "kernels/read_scale.h"
#include "kernels/reference/reference_list.h"
#include "kernels/rewrite.h"

namespace berth {
namespace {

constexpr ReferenceKernel kReferences[] = {
#define BERTH_OP(name) &name##Reference,
#include "kernels/op_list.inc"
#undef BERTH_OP
};

// What an operand with a read scale becomes.
Tensor ReadAsFloats(const ConstTensorView& stored, const ReadScale& scale) {
  Tensor result(TensorType{DType::kFloat32, stored.type.shape});
  const absl::Span<float> out = result.Values<float>();
  VisitDType(stored.type.dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto in = stored.Values<T>();
      for (size_t i = 0; i < in.size(); ++i) {
        const int64_t distance = static_cast<int64_t>(in[i]) - scale.zero_point;
        out[i] = static_cast<float>(distance) * scale.scale;
      }
    }
  });
  return result;
}

// The op of `node` without its tail. Every input counts as known at compile time.
absl::StatusOr<std::vector<Tensor>> EvaluateOwn(const Node& node,
                                                absl::Span<const ConstTensorView> stored) {
  std::vector<TensorType> types;
  std::vector<Tensor> copies(stored.size());
  std::vector<const Tensor*> constants(stored.size(), nullptr);
  std::vector<ConstTensorView> inputs(stored.begin(), stored.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto scale = ReadScaleOf(node.attributes, i);
    if (scale) {
      copies[i] = ReadAsFloats(stored[i], *scale);
      inputs[i] = std::as_const(copies[i]).view();
    }
    types.push_back(inputs[i].type);
    if (scale || inputs[i].type.dtype == DType::kUndefined) continue;
    copies[i] = Tensor(inputs[i].type);
    if (!copies[i].bytes().empty()) {
      std::memcpy(copies[i].bytes().data(), inputs[i].data, copies[i].bytes().size());
    }
    constants[i] = &copies[i];
  }
  OpCall call;
  call.node = &node;
  call.inputs = types;
  call.constants = constants;
  BERTH_ASSIGN_OR_RETURN(const std::vector<TensorType> output_types,
                         GetOpDef(node.kind).infer_types(call));
  std::vector<Tensor> outputs;
  std::vector<TensorView> views;
  for (const TensorType& type : output_types) outputs.emplace_back(type);
  for (Tensor& output : outputs) views.push_back(output.view());
  call.outputs = output_types;
  BERTH_RETURN_IF_ERROR(GetReference(node.kind)(call, inputs, views));
  return outputs;
}

// One op of a tail as a node of its own; `operands` are its operands without the flowing value.
// (Old broadcasting was expanded before anything was fused.)
absl::StatusOr<Tensor> EvaluateFused(const FusedOp& fused, const Tensor& flow,
                                     absl::Span<const ConstTensorView> operands) {
  Node node;
  node.kind = fused.kind;
  node.name = fused.name;
  node.opset = kRewriteOpset;
  node.attributes = fused.attributes;
  node.inputs = fused.operands;
  node.outputs = {ValueId::kNone};
  std::vector<ConstTensorView> inputs(operands.begin(), operands.end());
  inputs.insert(inputs.begin() + fused.flow_position, flow.view());
  BERTH_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateOwn(node, inputs));
  return std::move(results[0]);
}

}  // namespace

ReferenceKernel GetReference(OpKind kind) { return kReferences[static_cast<size_t>(kind)]; }

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& /*graph*/, const Node& node,
                                                 absl::Span<const ConstTensorView> inputs) {
  const auto where = [&node](const absl::Status& status) {
    return Annotate(status, fmt::format("{} '{}'", OpName(node.kind), node.name));
  };
  size_t next = node.inputs.size();
  auto results = EvaluateOwn(node, inputs.subspan(0, next));
  if (!results.ok()) return where(results.status());
  for (const FusedOp& fused : node.tail) {
    const size_t count = fused.operands.size() - 1;
    auto result = EvaluateFused(fused, (*results)[0], inputs.subspan(next, count));
    if (!result.ok()) return where(Annotate(result.status(), fused.name));
    (*results)[0] = *std::move(result);
    next += count;
  }
  return results;
}

}  // namespace berth
