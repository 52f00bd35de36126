#include "planner/onnx/import.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "planner/onnx/attributes.h"
#include "planner/onnx/checks.h"
#include "planner/onnx/external_data.h"
#include "planner/onnx/four_bits.h"
#include "planner/onnx/inputs.h"
#include "planner/onnx/model_file.h"
#include "planner/onnx/sort_nodes.h"
#include "planner/onnx/tensors.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// Operators of com.microsoft that ai.onnx has too mean what they mean there since this version: the
// exact Gelu, 16-bit integers in QuantizeLinear.
constexpr int kContribOpset = 21;

// A value of the graph around a body that the body reads, and its name there.
struct Capture {
  ValueId outside = ValueId::kNone, inside = ValueId::kNone;
};

// Fills a graph from a checked model. Takes initializers' bytes out of the message as it goes, so
// that weights are held once.
class GraphBuilder {
 public:
  // `outer`: of the graph in which this one is a body.
  GraphBuilder(onnx::GraphProto& proto, const OpsetVersions& opsets,
               const std::filesystem::path& folder, const ImportOptions& options,
               GraphBuilder* outer = nullptr)
      : proto_(proto), opsets_(opsets), folder_(folder), options_(options), outer_(outer) {}

  absl::StatusOr<Graph> Build() {
    graph_.name = OneLine(proto_.name(), 100);
    BERTH_RETURN_IF_ERROR(AddConstants());
    BERTH_RETURN_IF_ERROR(AddInputs());
    BERTH_RETURN_IF_ERROR(AddNodes());
    for (const auto& output : proto_.output()) graph_.outputs.push_back(ids_.at(output.name()));
    BERTH_RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

  // A body: its inputs are those of the message, then what it captures.
  absl::StatusOr<Graph> BuildBody() {
    graph_.name = OneLine(proto_.name(), 100);
    BERTH_RETURN_IF_ERROR(AddConstants());
    for (const auto& input : proto_.input()) {
      BERTH_ASSIGN_OR_RETURN(const ValueId id, AddValue(input.name()));
      BERTH_RETURN_IF_ERROR(Declare(input, graph_.at(id)));
      graph_.inputs.push_back(id);
    }
    BERTH_RETURN_IF_ERROR(AddNodes());
    for (const auto& output : proto_.output()) {
      BERTH_ASSIGN_OR_RETURN(const ValueId id, Find(output.name()));
      graph_.outputs.push_back(id);
    }
    return std::move(graph_);
  }
  // Of the graph around it, and of the body: in order.
  const std::vector<Capture>& captures() const { return captures_; }

 private:
  absl::Status AddConstants() {
    for (auto& initializer : *proto_.mutable_initializer()) {
      BERTH_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(initializer, folder_));
      const std::string name = initializer.name();
      onnx::TensorProto().Swap(&initializer);
      ids_.emplace(name, graph_.AddConstant(OneLine(name), std::move(tensor)));
    }
    return absl::OkStatus();
  }

  absl::Status AddInputs() {
    std::set<std::string> unused;
    for (const auto& [name, shape] : options_.input_shapes) unused.insert(name);
    for (const auto& [name, tensor] : options_.constant_inputs) unused.insert(name);
    for (const auto& input : proto_.input()) {
      unused.erase(input.name());
      BERTH_RETURN_IF_ERROR(AddInput(input));
    }
    if (!unused.empty()) {
      return InvalidArgument("the model has no input '{}'{}", OneLine(*unused.begin(), 100),
                             InputNames());
    }
    return ResolveInputs(options_, graph_);
  }

  std::string InputNames() const {
    std::string names;
    for (const auto& input : proto_.input()) {
      names += (names.empty() ? "; its inputs: '" : ", '") + OneLine(input.name(), 100) + "'";
    }
    return OneLine(names, 1000);
  }

  // An input with an initializer is a constant (its default is not overridden).
  absl::Status AddInput(const onnx::ValueInfoProto& input) {
    Value declared;
    declared.name = OneLine(input.name());
    BERTH_RETURN_IF_ERROR(Declare(input, declared));
    if (const auto found = ids_.find(input.name()); found != ids_.end()) {
      return CheckAgainstDeclared(declared, graph_.at(found->second).type);
    }
    if (const auto bound = options_.constant_inputs.find(input.name());
        bound != options_.constant_inputs.end()) {
      BERTH_RETURN_IF_ERROR(CheckAgainstDeclared(declared, bound->second.type()));
      ids_.emplace(input.name(), graph_.AddConstant(declared.name, bound->second));
      return absl::OkStatus();
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId id, AddValue(input.name()));
    graph_.at(id) = std::move(declared);
    graph_.inputs.push_back(id);
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> AddValue(const std::string& name) {
    const ValueId id = graph_.AddValue(OneLine(name), TensorType{});
    graph_.at(id).shape_known = false;
    if (ids_.emplace(name, id).second) return id;
    return InvalidArgument("value '{}' is defined twice", OneLine(name, 100));
  }

  // The value of that name, captured from the graphs around this one where it has none.
  absl::StatusOr<ValueId> Find(const std::string& name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    if (outer_ == nullptr) {
      return InvalidArgument("value '{}' is defined by nothing before it", OneLine(name, 100));
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId outside, outer_->Find(name));
    BERTH_ASSIGN_OR_RETURN(const ValueId inside, AddValue(name));
    const Value& source = outer_->graph_.at(outside);
    if (source.constant != nullptr) {
      graph_.at(inside) = source;  // the tensor is shared
    } else {
      captures_.push_back({outside, inside});
    }
    return inside;
  }

  absl::Status AddNodes() {
    std::unordered_map<std::string, const onnx::ValueInfoProto*> infos;
    for (const auto& info : proto_.value_info()) infos.emplace(info.name(), &info);
    for (const auto& info : proto_.output()) infos.insert_or_assign(info.name(), &info);
    for (const auto& node : proto_.node()) node_names_.insert(node.name());
    for (int i = 0; i < proto_.node_size(); ++i) {
      BERTH_RETURN_IF_ERROR(AddNode(*proto_.mutable_node(i), i, infos));
    }
    return absl::OkStatus();
  }

  // The graphs of the node as its attributes. What any of them captures is an input of the node and
  // of each of them, behind their own, in one order.
  absl::Status AddBodies(onnx::NodeProto& proto, Node& node) {
    struct Body {
      std::string name;
      Graph graph;
      std::vector<Capture> captures;
    };
    std::vector<Body> bodies;
    std::vector<ValueId> captured;
    for (auto& attribute : *proto.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      SortNodes(*attribute.mutable_g());
      GraphBuilder builder(*attribute.mutable_g(), opsets_, folder_, options_, this);
      auto graph = builder.BuildBody();
      if (!graph.ok()) return Annotate(graph.status(), fmt::format("its '{}'", attribute.name()));
      bodies.push_back({attribute.name(), *std::move(graph), builder.captures()});
      for (const Capture& capture : builder.captures()) {
        if (std::find(captured.begin(), captured.end(), capture.outside) == captured.end()) {
          captured.push_back(capture.outside);
        }
      }
    }
    if (bodies.empty()) return absl::OkStatus();
    for (Body& body : bodies) {
      for (const ValueId outside : captured) {
        const auto own =
            std::find_if(body.captures.begin(), body.captures.end(),
                         [&](const Capture& capture) { return capture.outside == outside; });
        if (own != body.captures.end()) {
          body.graph.inputs.push_back(own->inside);
          continue;
        }
        const ValueId unread = body.graph.AddValue(graph_.at(outside).name, TensorType{});
        body.graph.inputs.push_back(unread);
      }
      BERTH_RETURN_IF_ERROR(VerifyGraph(body.graph));
      node.attributes.Set(body.name,
                          BodyGraph{std::make_shared<const Graph>(std::move(body.graph))});
    }
    node.inputs.insert(node.inputs.end(), captured.begin(), captured.end());
    node.attributes.Set("captures", static_cast<int64_t>(captured.size()));
    return absl::OkStatus();
  }

  absl::Status AddNode(onnx::NodeProto& proto, int position,
                       const std::unordered_map<std::string, const onnx::ValueInfoProto*>& infos) {
    Node node;
    node.kind = *KindOfNode(proto);
    node.name = NameOf(proto, position);
    node.opset = proto.domain() == "com.microsoft" ? kContribOpset : OpsetOfDefaultDomain();
    auto attributes = AttributesFromProto(proto, folder_);
    if (!attributes.ok()) {
      return Annotate(attributes.status(), fmt::format("{} '{}'", OpName(node.kind), node.name));
    }
    node.attributes = *std::move(attributes);
    for (const std::string& name : proto.input()) {
      node.inputs.push_back(ValueId::kNone);
      if (name.empty()) continue;
      BERTH_ASSIGN_OR_RETURN(node.inputs.back(), Find(name));
    }
    if (absl::Status status = AddBodies(proto, node); !status.ok()) {
      return Annotate(status, fmt::format("{} '{}'", OpName(node.kind), node.name));
    }
    for (const std::string& name : proto.output()) {
      node.outputs.push_back(ValueId::kNone);
      if (name.empty()) continue;
      BERTH_ASSIGN_OR_RETURN(node.outputs.back(), AddValue(name));
      const auto info = infos.find(name);
      if (info == infos.end()) continue;
      BERTH_RETURN_IF_ERROR(Declare(*info->second, graph_.at(node.outputs.back())));
    }
    graph_.nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  int OpsetOfDefaultDomain() const {
    const auto found = opsets_.find("");
    return found == opsets_.end() ? 0 : found->second;
  }

  // The model's own name, or the op with its position: "Conv_12".
  std::string NameOf(const onnx::NodeProto& proto, int position) {
    if (!proto.name().empty()) return OneLine(proto.name());
    std::string name = fmt::format("{}_{}", proto.op_type(), position);
    while (!node_names_.insert(name).second) name += "_";
    return name;
  }

  onnx::GraphProto& proto_;
  const OpsetVersions& opsets_;
  const std::filesystem::path& folder_;
  const ImportOptions& options_;
  GraphBuilder* const outer_;
  std::vector<Capture> captures_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::set<std::string> node_names_;
};

// That external files are where they may be, before the checker looks for them.
absl::Status ConfineExternalData(const onnx::GraphProto& graph,
                                 const std::filesystem::path& folder) {
  for (const auto& initializer : graph.initializer()) {
    if (initializer.data_location() != onnx::TensorProto::EXTERNAL) continue;
    const std::string where = fmt::format("tensor '{}'", OneLine(initializer.name(), 100));
    auto dtype = ElementType(initializer.data_type());
    if (!dtype.ok()) return Annotate(dtype.status(), where);
    auto shape = Shape::Create({initializer.dims().begin(), initializer.dims().end()});
    if (!shape.ok()) return Annotate(shape.status(), where);
    auto range = LocateExternalData(initializer, folder, shape->ByteCount(*dtype));
    if (!range.ok()) return Annotate(range.status(), where);
  }
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) BERTH_RETURN_IF_ERROR(ConfineExternalData(attribute.g(), folder));
    }
  }
  return absl::OkStatus();
}

// `folder` is where external data are; empty: there may be none.
absl::StatusOr<Graph> ImportModel(onnx::ModelProto model, const std::filesystem::path& folder,
                                  const ImportOptions& options) {
  SortNodes(*model.mutable_graph());
  BERTH_RETURN_IF_ERROR(WidenFourBits(*model.mutable_graph(), folder));
  BERTH_RETURN_IF_ERROR(CheckStructure(model.graph()));
  BERTH_RETURN_IF_ERROR(CheckSupported(model));
  BERTH_ASSIGN_OR_RETURN(const OpsetVersions opsets, ReadOpsets(model));
  BERTH_RETURN_IF_ERROR(ConfineExternalData(model.graph(), folder));
  BERTH_RETURN_IF_ERROR(RunOnnxChecker(model, opsets, folder));
  return GraphBuilder(*model.mutable_graph(), opsets, folder, options).Build();
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(onnx::ModelProto model, ReadModelFile(path));  // errors name the file
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  auto graph = ImportModel(std::move(model), folder.empty() ? "." : folder, options);
  if (!graph.ok()) return Annotate(graph.status(), fmt::format("model '{}'", OneLine(path)));
  return graph;
}

absl::StatusOr<Graph> ImportOnnxBytes(absl::Span<const std::byte> bytes,
                                      const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(onnx::ModelProto model, ParseModelBytes(bytes));
  auto graph = ImportModel(std::move(model), options.data_folder, options);
  if (!graph.ok()) return Annotate(graph.status(), "model in memory");
  return graph;
}

}  // namespace berth
