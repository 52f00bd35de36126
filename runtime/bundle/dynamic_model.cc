#include "runtime/bundle/dynamic_model.h"

namespace berth {
namespace {

std::string DimText(const Dim& dim) {
  if (dim.extent >= 0) return std::to_string(dim.extent);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

absl::Status VerifyBodies(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const auto& [name, value] : node.attributes.values()) {
      const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (body == nullptr) continue;
      BERTH_RETURN_IF_ERROR(
          Annotate(VerifyDynamicGraph(**body), fmt::format("{} '{}'", name, node.name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeTensor(const TensorInfo& info) {
  if (!info.has_free_shape) return info.type.ToString();
  if (!info.has_declared_rank) return fmt::format("{}[...]", DTypeName(info.type.dtype));
  std::string dims;
  for (const Dim& dim : info.dims) {
    if (!dims.empty()) dims += 'x';
    dims += DimText(dim);
  }
  return fmt::format("{}[{}]", DTypeName(info.type.dtype), dims.empty() ? "scalar" : dims);
}

absl::Status VerifyDynamicGraph(const Graph& graph) {
  BERTH_RETURN_IF_ERROR(VerifyGraph(graph));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.outputs.empty() || node.name.empty()) {
      return InvalidArgument("graph '{}', node {} ({} '{}'): without outputs or without a name",
                             graph.name, i, OpName(node.kind), node.name);
    }
  }
  return VerifyBodies(graph);
}

std::vector<TensorInfo> DescribeInterface(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorInfo> infos;
  for (const ValueId id : values) {
    const Value& value = graph.at(id);
    TensorInfo info{value.name, value.type, !value.shape_known, value.rank_declared,
                    value.declared};
    if (value.shape_known) info.dims.clear();
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace berth
