#include "planner/tflite/import.h"

#include <set>

#include "planner/onnx/text.h"
#include "planner/tflite/checks.h"
#include "planner/tflite/op_table.h"

namespace berth {
namespace {

class TfliteBuilder {
 public:
  TfliteBuilder(TfliteFile file, const ImportOptions& options) : options_(options) {
    state_.file = std::move(file);
    state_.subgraph = state_.file.model->subgraphs()->Get(0);
    state_.own_kernels = HasRunTimeShapes(state_.file);
    state_.keeps_states = options.state_mode != StateMode::kFresh;
    if (state_.subgraph->tensors() != nullptr) {
      state_.values.resize(state_.subgraph->tensors()->size(), ValueId::kNone);
    }
  }

  absl::StatusOr<Graph> Build() {
    const auto* name = state_.subgraph->name();
    state_.graph.name = name == nullptr ? "" : OneLine(name->string_view(), 100);
    BERTH_RETURN_IF_ERROR(AddInputs());
    const auto* operators = state_.subgraph->operators();
    for (uint32_t i = 0; operators != nullptr && i < operators->size(); ++i) {
      BERTH_RETURN_IF_ERROR(AddOperator(*operators->Get(i), i));
    }
    BERTH_RETURN_IF_ERROR(AddOutputs());
    BERTH_RETURN_IF_ERROR(VerifyGraph(state_.graph));
    return std::move(state_.graph);
  }

 private:
  absl::Status AddInputs() {
    std::set<std::string> unused;
    for (const auto& [name, shape] : options_.input_shapes) unused.insert(name);
    for (const auto& [name, tensor] : options_.constant_inputs) unused.insert(name);
    std::string names;
    const auto* inputs = state_.subgraph->inputs();
    for (uint32_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
      const std::string name = TfliteTensorName(*state_.subgraph, inputs->Get(i));
      unused.erase(name);
      names += fmt::format("{}'{}'", names.empty() ? "; its inputs: " : ", ", OneLine(name, 100));
      if (absl::Status status = AddInput(inputs->Get(i), i, name); !status.ok()) {
        return Annotate(status, fmt::format("input '{}'", name));
      }
    }
    if (unused.empty()) return absl::OkStatus();
    return InvalidArgument("the model has no input '{}'{}", OneLine(*unused.begin(), 100),
                           OneLine(names, 1000));
  }

  absl::Status AddInput(int tensor, size_t position, const std::string& name) {
    const tfl::Tensor& stored = *state_.subgraph->tensors()->Get(static_cast<uint32_t>(tensor));
    BERTH_ASSIGN_OR_RETURN(TensorType type, TfliteType(stored));
    const auto named = options_.input_shapes.find(name);
    if (named != options_.input_shapes.end()) {
      BERTH_RETURN_IF_ERROR(Pin(stored, named->second, type.shape));
    } else if (position < options_.shapes_by_position.size()) {
      BERTH_RETURN_IF_ERROR(Pin(stored, options_.shapes_by_position[position], type.shape));
    }
    ValueId& value = state_.values[static_cast<size_t>(tensor)];
    if (const auto bound = options_.constant_inputs.find(name);
        bound != options_.constant_inputs.end()) {
      if (bound->second.type() != type) {
        return InvalidArgument("it is {}, its value {}", type.ToString(),
                               bound->second.type().ToString());
      }
      value = state_.graph.AddConstant(name, bound->second);
      return absl::OkStatus();
    }
    value = state_.graph.AddValue(name, std::move(type));
    state_.graph.inputs.push_back(value);
    return absl::OkStatus();
  }

  // Free dimensions are -1 in the signature; the shape holds a placeholder for them.
  static absl::Status Pin(const tfl::Tensor& stored, const Shape& pinned, Shape& shape) {
    if (pinned.rank() != shape.rank()) {
      return InvalidArgument("shape {} has rank {}, the model declares rank {}", pinned.ToString(),
                             pinned.rank(), shape.rank());
    }
    const auto* signature = stored.shape_signature();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto at = static_cast<uint32_t>(axis);
      const bool free = signature != nullptr && signature->size() > at && signature->Get(at) < 0;
      if (!free && pinned[axis] != shape[axis]) {
        return InvalidArgument("shape {} where the model declares dimension {} = {}",
                               pinned.ToString(), axis, shape[axis]);
      }
    }
    shape = pinned;
    return absl::OkStatus();
  }

  absl::Status AddOperator(const tfl::Operator& op, uint32_t position) {
    const tfl::OperatorCode& code = *state_.file.model->operator_codes()->Get(op.opcode_index());
    Node origin;
    origin.name = fmt::format("{}_{}", OperatorName(code), position);
    TfliteOpImport import(state_, op, origin);
    const absl::Status status = FindTfliteOp(code)(import);
    if (status.ok()) return status;
    return Annotate(status, fmt::format("operator {} ({})", position, OperatorName(code)));
  }

  absl::Status AddOutputs() {
    for (const int32_t tensor : *state_.subgraph->outputs()) {
      const ValueId value = state_.values[static_cast<size_t>(tensor)];
      BERTH_RETURN_IF_ERROR(AddOutput(tensor, value, TfliteTensorName(*state_.subgraph, tensor)));
    }
    for (const TfliteNextState& next : state_.next_states) {
      const std::string name = TfliteTensorName(*state_.subgraph, next.tensor);
      BERTH_RETURN_IF_ERROR(AddOutput(next.tensor, next.value, name + "/next"));
      if (options_.state_mode == StateMode::kKeep) BERTH_RETURN_IF_ERROR(AddState(next, name));
    }
    return absl::OkStatus();
  }

  // As TFLite resets variable tensors: int8 to the zero point, all others to zeros.
  absl::Status AddState(const TfliteNextState& next, const std::string& name) {
    Graph& graph = state_.graph;
    GraphState state{name, next.input, graph.outputs.size() - 1, nullptr};
    const TensorType& type = graph.at(graph.inputs[next.input]).type;
    BERTH_ASSIGN_OR_RETURN(
        const auto quantization,
        ReadQuantization(*state_.subgraph->tensors()->Get(static_cast<uint32_t>(next.tensor))));
    if (type.dtype == DType::kInt8 && quantization) {
      Tensor initial(type);
      for (int8_t& value : initial.Values<int8_t>()) {
        value = static_cast<int8_t>(quantization->zero_points[0]);
      }
      state.initial = std::make_shared<const Tensor>(std::move(initial));
    }
    graph.states.push_back(std::move(state));
    return absl::OkStatus();
  }

  // Under its own name: an input, a constant or another output that it equals keeps its own.
  absl::Status AddOutput(int tensor, ValueId value, const std::string& name) {
    if (value == ValueId::kNone) {
      return Unimplemented("output '{}' (tensor {}) is a constant or a state", name, tensor);
    }
    Graph& graph = state_.graph;
    if (graph.at(value).name != name || graph.at(value).constant != nullptr ||
        !names_.insert(name).second) {
      Node identity;
      identity.kind = OpKind::kIdentity;
      identity.name = fmt::format("output_{}", graph.outputs.size());
      identity.opset = kRewriteOpset;
      identity.inputs = {value};
      const ValueId copy = graph.AddValue(name, graph.at(value).type);
      identity.outputs = {copy};
      graph.nodes.push_back(std::move(identity));
      value = copy;
    }
    graph.outputs.push_back(value);
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  TfliteGraphState state_;
  std::set<std::string> names_;  // of outputs so far
};

absl::StatusOr<Graph> ImportFile(TfliteFile file, const ImportOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckTfliteModel(file));
  return TfliteBuilder(std::move(file), options).Build();
}

}  // namespace

absl::StatusOr<Graph> ImportTflite(const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(TfliteFile file, ReadTfliteFile(path));  // errors name the file
  auto graph = ImportFile(std::move(file), options);
  if (!graph.ok()) return Annotate(graph.status(), fmt::format("model '{}'", OneLine(path)));
  return graph;
}

absl::StatusOr<Graph> ImportTfliteBytes(absl::Span<const std::byte> bytes,
                                        const ImportOptions& options) {
  TfliteFile file;
  file.bytes.assign(bytes.begin(), bytes.end());
  auto model = VerifyTfliteBytes(file.bytes);
  if (!model.ok()) return Annotate(model.status(), "model in memory: no TFLite model");
  file.model = *model;
  auto graph = ImportFile(std::move(file), options);
  if (!graph.ok()) return Annotate(graph.status(), "model in memory");
  return graph;
}

}  // namespace berth
