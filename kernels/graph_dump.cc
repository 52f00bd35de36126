#include <fmt/ranges.h>

#include "kernels/graph.h"

namespace berth {
namespace {

std::string TypeText(const Value& value) {
  if (value.shape_known) return value.type.ToString();
  if (!value.rank_declared) return fmt::format("{}[?]", DTypeName(value.type.dtype));
  std::vector<std::string> dims;
  for (const Dim& dim : value.declared) {
    dims.push_back(dim.extent >= 0 ? fmt::format("{}", dim.extent)
                                   : (dim.symbol.empty() ? "?" : dim.symbol));
  }
  return fmt::format("{}[{}]", DTypeName(value.type.dtype), fmt::join(dims, "x"));
}

// "%3:name", "_" for an operand left out.
std::string ValueText(const Graph& graph, ValueId id) {
  if (id == ValueId::kNone) return "_";
  return fmt::format("%{}:{}", static_cast<int32_t>(id), graph.at(id).name);
}

std::string OperandList(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> texts;
  for (const ValueId id : ids) {
    std::string text = ValueText(graph, id);
    if (id != ValueId::kNone && graph.at(id).constant) {
      text += fmt::format(" const {}", TypeText(graph.at(id)));
    }
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string AttributeText(const AttributeValue& value) {
  struct Visitor {
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<float>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<std::string>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::shared_ptr<const Tensor>& v) const {
      return v ? v->type().ToString() : "null";
    }
    std::string operator()(const BodyGraph& v) const {
      return fmt::format("graph({} nodes)", v.graph ? v.graph->nodes.size() : 0);
    }
  };
  return std::visit(Visitor{}, value);
}

std::string AttributeList(const Attributes& attributes) {
  if (attributes.values().empty()) return "";
  std::vector<std::string> texts;
  for (const auto& [name, value] : attributes.values()) {
    texts.push_back(fmt::format("{}={}", name, AttributeText(value)));
  }
  return fmt::format(" {{{}}}", fmt::join(texts, ", "));
}

std::string NodeText(const Graph& graph, const Node& node) {
  std::vector<std::string> outputs;
  for (const ValueId id : node.outputs) {
    outputs.push_back(id == ValueId::kNone
                          ? "_"
                          : fmt::format("{} {}", ValueText(graph, id), TypeText(graph.at(id))));
  }
  std::string text =
      fmt::format("  {} = {}@{}{}({}){}  # {}\n", fmt::join(outputs, ", "), OpName(node.kind),
                  node.opset, node.layout == DataLayout::kNhwc ? " nhwc" : "",
                  OperandList(graph, node.inputs), AttributeList(node.attributes), node.name);
  for (const FusedOp& fused : node.tail) {
    text += fmt::format("    then {}({}; flow at {}){} -> {}  # {}\n", OpName(fused.kind),
                        OperandList(graph, fused.operands), fused.flow_position,
                        AttributeList(fused.attributes), DTypeName(fused.dtype), fused.name);
  }
  return text;
}

}  // namespace

std::string DumpGraph(const Graph& graph) {
  std::string text = fmt::format("graph '{}': {} nodes, {} values\n", graph.name,
                                 graph.nodes.size(), graph.values.size());
  const auto list = [&](std::string_view title, const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      text += fmt::format("  {} {} {}\n", title, ValueText(graph, id), TypeText(graph.at(id)));
    }
  };
  list("input", graph.inputs);
  for (const Node& node : graph.nodes) text += NodeText(graph, node);
  list("output", graph.outputs);
  for (const GraphState& state : graph.states) {
    text += fmt::format("  state '{}': output {} is input {} of the next run\n", state.name,
                        state.output, state.input);
  }
  return text;
}

}  // namespace berth
