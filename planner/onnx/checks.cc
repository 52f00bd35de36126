#include "planner/onnx/checks.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "kernels/contrib_ops.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// Later operator sets may change what an op means; up to here each change is known.
constexpr int kNewestOpset = 25;

std::string Quoted(const std::string& name) { return fmt::format("'{}'", OneLine(name, 100)); }

std::string NodeText(const onnx::NodeProto& node, int position) {
  return fmt::format("node {} ({} {})", position, OneLine(node.op_type(), 60), Quoted(node.name()));
}

bool IsDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

// Sets of names that may each be declared once.
absl::Status Declare(std::set<std::string>& names, const std::string& name, const char* what) {
  if (name.empty()) return InvalidArgument("{} without a name", what);
  if (!IsUtf8(name)) return InvalidArgument("{} {}: its name is not UTF-8", what, names.size());
  if (names.insert(name).second) return absl::OkStatus();
  return InvalidArgument("{} {} is declared twice", what, Quoted(name));
}

absl::Status CheckTensorTyped(const onnx::ValueInfoProto& info, const char* what) {
  using onnx::TypeProto;
  const char* kind = nullptr;
  switch (info.type().value_case()) {
    case TypeProto::kTensorType:
      return absl::OkStatus();
    case TypeProto::VALUE_NOT_SET:
      return InvalidArgument("{} {} has no type", what, Quoted(info.name()));
    case TypeProto::kSequenceType:
      kind = "a sequence";
      break;
    case TypeProto::kMapType:
      kind = "a map";
      break;
    case TypeProto::kOptionalType:
      kind = "an optional";
      break;
    case TypeProto::kSparseTensorType:
      kind = "a sparse tensor";
      break;
    default:
      kind = "no tensor";
      break;
  }
  return Unimplemented("{} {} is {}", what, Quoted(info.name()), kind);
}

// Walks the graph in order and keeps what is defined so far.
class StructureCheck {
 public:
  explicit StructureCheck(const onnx::GraphProto& graph) : graph_(graph) {}

  absl::Status Run() {
    BERTH_RETURN_IF_ERROR(Sources());
    std::set<std::string> node_names;
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      // Constants are tensors: exporters give all of them one name.
      if (!node.name().empty() && node.op_type() != "Constant") {
        BERTH_RETURN_IF_ERROR(Declare(node_names, node.name(), "node"));
      }
      if (absl::Status status = Visit(node); !status.ok()) {
        return Annotate(status, NodeText(node, i));
      }
    }
    return Sinks();
  }

 private:
  absl::Status Sources() {
    std::set<std::string> inputs;
    for (const auto& input : graph_.input()) {
      BERTH_RETURN_IF_ERROR(Declare(inputs, input.name(), "graph input"));
    }
    std::set<std::string> initializers;
    for (const auto& tensor : graph_.initializer()) {
      BERTH_RETURN_IF_ERROR(Declare(initializers, tensor.name(), "initializer"));
    }
    for (const auto& sparse : graph_.sparse_initializer()) {
      const std::string& name = sparse.values().name();
      BERTH_RETURN_IF_ERROR(Declare(initializers, name, "initializer"));
      return Unimplemented("initializer {} is a sparse tensor", Quoted(name));
    }
    defined_ = inputs;
    defined_.insert(initializers.begin(), initializers.end());
    return absl::OkStatus();
  }

  absl::Status Visit(const onnx::NodeProto& node) {
    if (node.op_type().empty()) return InvalidArgument("it names no operator");
    for (const std::string& name : node.input()) {
      if (!name.empty() && defined_.count(name) == 0) {
        return InvalidArgument("input {} is not defined by anything before it", Quoted(name));
      }
    }
    for (const std::string& name : node.output()) {
      if (name.empty()) continue;
      if (!IsUtf8(name)) return InvalidArgument("the name of an output is not UTF-8");
      if (!defined_.insert(name).second) {
        return InvalidArgument("output {} is defined already", Quoted(name));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Sinks() {
    if (graph_.output_size() == 0) return InvalidArgument("the graph has no outputs");
    std::set<std::string> outputs;
    for (const auto& output : graph_.output()) {
      BERTH_RETURN_IF_ERROR(Declare(outputs, output.name(), "graph output"));
      if (defined_.count(output.name()) == 0) {
        return InvalidArgument("graph output {} is produced by nothing", Quoted(output.name()));
      }
    }
    std::set<std::string> infos;
    for (const auto& info : graph_.value_info()) {
      BERTH_RETURN_IF_ERROR(Declare(infos, info.name(), "value_info"));
    }
    for (const auto& input : graph_.input()) {
      BERTH_RETURN_IF_ERROR(CheckTensorTyped(input, "graph input"));
    }
    return absl::OkStatus();
  }

  const onnx::GraphProto& graph_;
  std::set<std::string> defined_;
};

}  // namespace

absl::StatusOr<OpsetVersions> ReadOpsets(const onnx::ModelProto& model) {
  OpsetVersions opsets;
  for (const auto& import : model.opset_import()) {
    const std::string domain = IsDefaultDomain(import.domain()) ? "" : import.domain();
    const int64_t version = import.version();
    if (version < 1 || version > (1 << 20)) {
      return InvalidArgument("operator set '{}' has version {}", OneLine(domain, 60), version);
    }
    if (!opsets.emplace(domain, static_cast<int>(version)).second) {
      return InvalidArgument("operator set '{}' is imported twice", OneLine(domain, 60));
    }
  }
  // Before IR version 3 there were no imports: everything is version 1.
  if (opsets.empty() && model.ir_version() >= 1 && model.ir_version() < 3) opsets[""] = 1;
  if (const auto found = opsets.find(""); found != opsets.end() && found->second > kNewestOpset) {
    return Unimplemented("operator set ai.onnx version {}, the newest known is {}", found->second,
                         kNewestOpset);
  }
  return opsets;
}

std::optional<OpKind> KindOfNode(const onnx::NodeProto& node) {
  const std::optional<OpKind> kind = OpFromName(node.op_type());
  if (IsDefaultDomain(node.domain())) {
    return kind && IsContribOp(*kind) ? std::nullopt : kind;
  }
  if (node.domain() != "com.microsoft" || !kind) return std::nullopt;
  const bool both = *kind == OpKind::kGelu || *kind == OpKind::kQuantizeLinear ||
                    *kind == OpKind::kDequantizeLinear;
  return both || IsContribOp(*kind) ? kind : std::nullopt;
}

absl::Status CheckStructure(const onnx::GraphProto& graph) { return StructureCheck(graph).Run(); }

namespace {

struct Missing {
  int count = 0;
  std::string node;
};

constexpr int kDeepestBody = 16;

absl::Status CountMissing(const onnx::GraphProto& graph, int depth,
                          std::map<std::string, Missing>& missing) {
  if (depth > kDeepestBody) return Unimplemented("graphs nested more than {} deep", kDeepestBody);
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) BERTH_RETURN_IF_ERROR(CountMissing(attribute.g(), depth + 1, missing));
    }
    if (KindOfNode(node)) continue;
    const std::string domain = IsDefaultDomain(node.domain()) ? "" : node.domain() + ".";
    Missing& entry = missing[OneLine(domain + node.op_type(), 100)];
    if (entry.count++ == 0) {
      entry.node = node.name().empty() ? fmt::format("node {}", i) : Quoted(node.name());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSupported(const onnx::ModelProto& model) {
  std::map<std::string, Missing> missing;
  BERTH_RETURN_IF_ERROR(CountMissing(model.graph(), 0, missing));
  if (missing.empty()) return absl::OkStatus();
  std::string text;
  for (const auto& [op, entry] : missing) {
    text +=
        fmt::format("{}{} x{} (first {})", text.empty() ? "" : ", ", op, entry.count, entry.node);
  }
  return Unimplemented("unsupported ops: {}", OneLine(text, 4000));
}

}  // namespace berth
