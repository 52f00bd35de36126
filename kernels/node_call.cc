#include "kernels/op_def.h"
#include "kernels/read_scale.h"
#include "kernels/tile_builder.h"

namespace berth {
namespace {

struct Operands {
  std::vector<TensorType> types;
  std::vector<const Tensor*> constants;
};

Operands InputsOf(const Graph& graph, const Node& node) {
  Operands operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool present = id != ValueId::kNone;
    operands.types.push_back(present ? graph.at(id).type : TensorType{});
    operands.constants.push_back(present ? graph.at(id).constant.get() : nullptr);
    if (!ReadScaleOf(node.attributes, i)) continue;
    operands.types.back().dtype = DType::kFloat32;
    operands.constants.back() = nullptr;  // not in this form
  }
  return operands;
}

std::string Where(const Node& node) { return fmt::format("{} '{}'", OpName(node.kind), node.name); }

// Before the tail.
absl::StatusOr<std::vector<TensorType>> OwnTypes(const Graph& graph, const Node& node) {
  for (const ValueId id : node.inputs) {
    if (id != ValueId::kNone && !graph.at(id).shape_known) {
      return FailedPrecondition("{}: the shape of input '{}' is not known", Where(node),
                                graph.at(id).name);
    }
  }
  const Operands operands = InputsOf(graph, node);
  OpCall call;
  call.node = &node;
  call.inputs = operands.types;
  call.constants = operands.constants;
  auto types = GetOpDef(node.kind).infer_types(call);
  if (!types.ok()) return Annotate(types.status(), Where(node));
  if (types->size() != node.outputs.size()) {
    return InvalidArgument("{}: {} outputs, the operator makes {}", Where(node),
                           node.outputs.size(), types->size());
  }
  return types;
}

// What the model says of the value against what was inferred.
absl::Status CheckDeclared(const Value& value, const TensorType& inferred) {
  if (!value.shape_known && value.type.dtype != DType::kUndefined &&
      value.type.dtype != inferred.dtype) {
    return InvalidArgument("output '{}' is declared {} but is {}", value.name,
                           DTypeName(value.type.dtype), DTypeName(inferred.dtype));
  }
  if (!value.rank_declared) return absl::OkStatus();
  if (static_cast<int>(value.declared.size()) != inferred.shape.rank()) {
    return InvalidArgument("output '{}' is declared with rank {} but has shape {}", value.name,
                           value.declared.size(), inferred.shape.ToString());
  }
  for (int axis = 0; axis < inferred.shape.rank(); ++axis) {
    const int64_t declared = value.declared[static_cast<size_t>(axis)].extent;
    if (declared >= 0 && declared != inferred.shape[axis]) {
      return InvalidArgument("output '{}' is declared with dimension {} = {} but has shape {}",
                             value.name, axis, declared, inferred.shape.ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace

NodeCall::NodeCall(const Graph& graph, const Node& node) {
  Operands operands = InputsOf(graph, node);
  inputs_ = std::move(operands.types);
  constants_ = std::move(operands.constants);
  for (const ValueId id : node.outputs) {
    outputs_.push_back(id == ValueId::kNone ? TensorType{} : graph.at(id).type);
  }
  // A tail may change the dtype of output 0; the op itself is to see what it makes.
  if (!node.tail.empty() && !outputs_.empty()) {
    if (auto own = OwnTypes(graph, node); own.ok()) outputs_[0] = (*own)[0];
  }
  for (const FusedOp& fused : node.tail) {
    for (size_t i = 0; i < fused.operands.size(); ++i) {
      if (static_cast<int>(i) == fused.flow_position) continue;
      const ValueId id = fused.operands[i];
      tail_inputs_.push_back(id == ValueId::kNone ? TensorType{} : graph.at(id).type);
    }
  }
  call_.node = &node;
  call_.inputs = inputs_;
  call_.constants = constants_;
  call_.outputs = outputs_;
  call_.tail_inputs = tail_inputs_;
}

NodeCall::NodeCall(const Graph& graph, const Node& node, const OutputPart& part,
                   absl::Span<const ValuePlacement> placements)
    : NodeCall(graph, node) {
  call_.part = part;
  if (!part.is_whole()) outputs_[0].shape[part.axis] = part.range.count;
  SetOnChip(graph, placements);
}

void NodeCall::SetOnChip(const Graph& graph, absl::Span<const ValuePlacement> placements) {
  const auto is_resident = [&](ValueId id) {
    return id != ValueId::kNone && placements[Index(id)].space == MemorySpace::kScratchpad;
  };
  const Node& node = *call_.node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool as_stored = !ReadScaleOf(node.attributes, i);
    inputs_on_chip_.push_back(as_stored && is_resident(node.inputs[i]));
  }
  for (const FusedOp& fused : node.tail) {
    for (size_t i = 0; i < fused.operands.size(); ++i) {
      if (static_cast<int>(i) == fused.flow_position) continue;
      tail_on_chip_.push_back(!ReadScaleOf(fused.attributes, i) && is_resident(fused.operands[i]));
    }
  }
  call_.inputs_on_chip = inputs_on_chip_;
  call_.tail_on_chip = tail_on_chip_;
  call_.output_on_chip = HasOwnResidentOutput(node, placements) &&
                         graph.at(node.outputs[0]).type.dtype == outputs_[0].dtype;
}

absl::StatusOr<std::vector<TensorType>> InferNodeTypes(const Graph& graph, const Node& node) {
  BERTH_ASSIGN_OR_RETURN(std::vector<TensorType> types, OwnTypes(graph, node));
  if (!node.tail.empty()) types[0].dtype = node.tail.back().dtype;
  return types;
}

absl::Status InferTypesOf(Graph& graph, const Node& node) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferNodeTypes(graph, node));
  for (size_t i = 0; i < types.size(); ++i) {
    if (node.outputs[i] == ValueId::kNone) continue;
    Value& value = graph.at(node.outputs[i]);
    if (absl::Status status = CheckDeclared(value, types[i]); !status.ok()) {
      return Annotate(status, Where(node));
    }
    value.type = types[i];
    value.shape_known = true;
  }
  return absl::OkStatus();
}

absl::Status InferTypes(Graph& graph) {
  for (const Node& node : graph.nodes) BERTH_RETURN_IF_ERROR(InferTypesOf(graph, node));
  return absl::OkStatus();
}

}  // namespace berth
