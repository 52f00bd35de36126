#include "planner/onnx/export.h"

#include <limits>

#include "kernels/fold/graph_edit.h"
#include "kernels/onnx_dtype.h"
#include "kernels/rewrite.h"
#include "planner/onnx/checks.h"
#include "planner/onnx/model_builder.h"
#include "planner/onnx/modern_ops.h"

namespace berth {
namespace {

// Versions of the file format that know these operator sets (docs/Versioning.md of ONNX).
int64_t IrVersionFor(int opset) { return opset >= 21 ? 10 : opset >= 19 ? 9 : 8; }

void FillTensor(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int>(DTypeToOnnx(tensor.dtype())));
  for (const int64_t extent : tensor.shape()) proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

class AttributeFiller {
 public:
  explicit AttributeFiller(onnx::AttributeProto& proto) : proto_(proto) {}

  absl::Status operator()(int64_t value) {
    proto_.set_i(value);
    return Is(onnx::AttributeProto::INT);
  }
  absl::Status operator()(float value) {
    proto_.set_f(value);
    return Is(onnx::AttributeProto::FLOAT);
  }
  absl::Status operator()(const std::string& value) {
    proto_.set_s(value);
    return Is(onnx::AttributeProto::STRING);
  }
  absl::Status operator()(const std::vector<int64_t>& values) {
    proto_.mutable_ints()->Add(values.begin(), values.end());
    return Is(onnx::AttributeProto::INTS);
  }
  absl::Status operator()(const std::vector<float>& values) {
    proto_.mutable_floats()->Add(values.begin(), values.end());
    return Is(onnx::AttributeProto::FLOATS);
  }
  absl::Status operator()(const std::vector<std::string>& values) {
    for (const std::string& value : values) proto_.add_strings(value);
    return Is(onnx::AttributeProto::STRINGS);
  }
  absl::Status operator()(const std::shared_ptr<const Tensor>& value) {
    FillTensor(*value, *proto_.mutable_t());
    return Is(onnx::AttributeProto::TENSOR);
  }
  absl::Status operator()(const BodyGraph&) {
    return Unimplemented("attribute '{}' is a graph", proto_.name());
  }

 private:
  absl::Status Is(onnx::AttributeProto::AttributeType type) {
    proto_.set_type(type);
    return absl::OkStatus();
  }
  onnx::AttributeProto& proto_;
};

// Attributes that a model of any version may carry and ONNX no longer names are left behind.
bool IsKnownAttribute(const onnx::OpSchema* schema, const std::string& name) {
  return schema == nullptr || schema->attributes().count(name) > 0;
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph)
      : graph_(graph), opset_(ModernOpset(graph)), builder_(opset_, "graph") {}

  absl::StatusOr<onnx::ModelProto> Export() {
    builder_.model.set_ir_version(IrVersionFor(opset_));
    builder_.model.set_producer_name("berth");
    if (!graph_.name.empty()) builder_.graph().set_name(graph_.name);
    NameValues();
    for (const ValueId id : graph_.inputs) Describe(id, *builder_.graph().add_input());
    for (const ValueId id : graph_.outputs) Describe(id, *builder_.graph().add_output());
    AddInitializers();
    for (const Node& node : graph_.nodes) {
      if (absl::Status status = AddNode(node); !status.ok()) {
        return Annotate(status, fmt::format("{} '{}'", OpName(node.kind), node.name));
      }
    }
    return std::move(builder_.model);
  }

 private:
  // The interface's names come first; others make way for them.
  void NameValues() {
    names_.resize(graph_.values.size());
    NameSource fresh{Graph{}};
    for (const auto* ids : {&graph_.inputs, &graph_.outputs}) {
      for (const ValueId id : *ids) {
        const std::string& name = graph_.at(id).name;
        if (names_[Index(id)].empty()) names_[Index(id)] = fresh.Fresh(name.empty() ? "x" : name);
      }
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const std::string& name = graph_.values[i].name;
      if (names_[i].empty()) names_[i] = fresh.Fresh(name.empty() ? "x" : name);
    }
  }

  const std::string& NameOf(ValueId id) const {
    return id == ValueId::kNone ? absent_ : names_[Index(id)];
  }

  void Describe(ValueId id, onnx::ValueInfoProto& info) const {
    const TensorType& type = graph_.at(id).type;
    SetType(info, NameOf(id), static_cast<int>(DTypeToOnnx(type.dtype)), type.shape.extents());
  }

  void AddInitializers() {
    std::vector<bool> read(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.inputs) {
        if (id != ValueId::kNone) read[Index(id)] = true;
      }
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (!read[i] || graph_.values[i].constant == nullptr) continue;
      onnx::TensorProto& proto = *builder_.graph().add_initializer();
      proto.set_name(names_[i]);
      FillTensor(*graph_.values[i].constant, proto);
    }
  }

  absl::Status AddNode(const Node& node) {
    if (!node.tail.empty() || node.layout != DataLayout::kNchw) {
      return Internal("has no form in ONNX");
    }
    std::vector<std::string> inputs, outputs;
    for (const ValueId id : node.inputs) inputs.push_back(NameOf(id));
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    for (const ValueId id : node.outputs) outputs.push_back(NameOf(id));
    const std::string op(OpName(node.kind));
    onnx::NodeProto& proto = builder_.Node(op, inputs, outputs, node_names_.Fresh(node.name));
    // The packaged library knows no later operators: their attributes are taken as they came.
    const onnx::OpSchema* schema =
        opset_ > kRewriteOpset ? nullptr : onnx::OpSchemaRegistry::Schema(op, opset_, "");
    for (const auto& [name, value] : node.attributes.values()) {
      if (!IsKnownAttribute(schema, name)) {
        if (IsKnownAttribute(onnx::OpSchemaRegistry::Schema(op, 1, ""), name)) continue;
        return Internal("attribute '{}' is not one of ONNX", name);
      }
      onnx::AttributeProto& attribute = *proto.add_attribute();
      attribute.set_name(name);
      BERTH_RETURN_IF_ERROR(std::visit(AttributeFiller(attribute), value));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const int opset_;
  ModelBuilder builder_;
  std::vector<std::string> names_;  // by value, unique
  NameSource node_names_{Graph{}};  // unique as well: not all runtimes take them otherwise
  const std::string absent_;
};

}  // namespace

absl::StatusOr<onnx::ModelProto> ExportOnnx(const Graph& graph) {
  BERTH_RETURN_IF_ERROR(VerifyGraph(graph));
  BERTH_ASSIGN_OR_RETURN(onnx::ModelProto model, Exporter(graph).Export());
  BERTH_ASSIGN_OR_RETURN(const OpsetVersions opsets, ReadOpsets(model));
  if (absl::Status status = RunOnnxChecker(model, opsets, {}); !status.ok()) {
    return Internal("the exported model is not valid: {}", ToStd(status.message()));
  }
  return model;
}

absl::StatusOr<std::string> SerializeModel(const onnx::ModelProto& model) {
  const size_t size_bytes = model.ByteSizeLong();
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<int32_t>::max());
  if (size_bytes > kMost) {
    return ResourceExhausted("the model takes {} bytes, an ONNX file has at most {}", size_bytes,
                             kMost);
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return Internal("the model does not serialize");
  return bytes;
}

}  // namespace berth
