#include "planner/dynamic_dims.h"

#include <set>
#include <utility>

namespace berth {
namespace {

std::set<std::string> NamesOf(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueId id : graph.inputs) {
    for (const Dim& dim : graph.at(id).declared) names.insert(dim.symbol);
  }
  return names;
}

absl::StatusOr<Shape> ShapeAt(const Value& value, const std::map<std::string, int64_t>& extents) {
  if (!value.rank_declared) return InvalidArgument("its rank is not known");
  std::vector<int64_t> sizes;
  for (const Dim& dim : value.declared) {
    const auto found = extents.find(dim.symbol);
    if (dim.extent < 0 && found == extents.end()) {
      return InvalidArgument("dimension '{}' has no size", dim.symbol);
    }
    sizes.push_back(dim.extent >= 0 ? dim.extent : found->second);
  }
  return Shape::Create(std::move(sizes));
}

}  // namespace

void NameFreeDims(Graph& graph) {
  std::set<std::string> taken = NamesOf(graph);
  for (const ValueId id : graph.inputs) {
    Value& value = graph.at(id);
    for (size_t axis = 0; axis < value.declared.size(); ++axis) {
      Dim& dim = value.declared[axis];
      if (dim.extent >= 0 || !dim.symbol.empty()) continue;
      dim.symbol = fmt::format("d{}", axis);
      if (taken.count(dim.symbol) > 0) dim.symbol = fmt::format("{}.d{}", value.name, axis);
      taken.insert(dim.symbol);
    }
  }
}

absl::StatusOr<Graph> PinFreeDims(const Graph& graph,
                                  const std::map<std::string, int64_t>& extents) {
  Graph pinned = graph;
  for (const ValueId id : graph.inputs) {
    Value& value = pinned.at(id);
    if (value.shape_known) continue;
    auto shape = ShapeAt(value, extents);
    if (!shape.ok()) return Annotate(shape.status(), fmt::format("input '{}'", value.name));
    value.type.shape = *std::move(shape);
    value.shape_known = true;
  }
  return pinned;
}

}  // namespace berth
