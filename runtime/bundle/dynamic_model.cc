#include "runtime/bundle/dynamic_model.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t kLongestNameShown = 100;

std::string DimText(const Dim& dim) {
  if (dim.extent >= 0) return std::to_string(dim.extent);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

absl::Status VerifyBodies(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const auto& [name, value] : node.attributes.values()) {
      const auto* body = std::get_if<BodyGraph>(&value);
      if (body == nullptr) continue;
      BERTH_RETURN_IF_ERROR(
          Annotate(VerifyDynamicGraph(*body->graph), fmt::format("{} '{}'", name, node.name)));
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

std::vector<TensorInfo> DescribeInputs(const DynamicModel& model) {
  return DescribeInterface(*model.graph, model.graph->inputs);
}

std::vector<TensorInfo> DescribeOutputs(const DynamicModel& model) {
  std::vector<TensorInfo> infos = DescribeInterface(*model.graph, model.graph->outputs);
  for (size_t i = 0; i < infos.size() && i < model.outputs.size(); ++i) {
    if (!infos[i].has_free_shape || !model.outputs[i].is_found) continue;
    infos[i].has_declared_rank = true;
    infos[i].dims = model.outputs[i].dims;
  }
  return infos;
}

std::vector<std::string> FreeDimNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs) {
    if (graph.at(id).shape_known) continue;
    for (const Dim& dim : graph.at(id).declared) {
      const bool is_new = std::find(names.begin(), names.end(), dim.symbol) == names.end();
      if (dim.extent < 0 && !dim.symbol.empty() && is_new) names.push_back(dim.symbol);
    }
  }
  return names;
}

absl::Status VerifyRanges(const Graph& graph, absl::Span<const DimRange> ranges) {
  const std::vector<std::string> names = FreeDimNames(graph);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const DimRange& range = ranges[i];
    const std::string shown = range.name.substr(0, kLongestNameShown);
    if (std::find(names.begin(), names.end(), range.name) == names.end()) {
      return InvalidArgument("range of '{}': no input has a free dimension of that name ({})",
                             shown,
                             names.empty() ? std::string("none has a free dimension with a name")
                                           : fmt::format("there are {}", fmt::join(names, ", ")));
    }
    if (range.low < 1 || range.high < range.low || range.high > kLargestExtent) {
      return InvalidArgument("range of '{}': {} to {}, expected sizes from 1 to {}, ascending",
                             shown, range.low, range.high, kLargestExtent);
    }
    const bool is_again = std::any_of(ranges.begin(), ranges.begin() + static_cast<long>(i),
                                      [&](const DimRange& r) { return r.name == range.name; });
    if (is_again) return InvalidArgument("range of '{}': given twice", shown);
  }
  return absl::OkStatus();
}

}  // namespace berth
