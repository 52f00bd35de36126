#include "tools/order_graph.h"

#include <fmt/ranges.h>

#include <limits>
#include <map>

#include "npu_sim/parse_json.h"

namespace berth {
namespace {

using nlohmann::json;

constexpr size_t kShownBytes = 80;
constexpr size_t kShownNodes = 20;

std::string Show(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, kShownBytes);
}

absl::StatusOr<const json*> ListOf(const json& root, const char* key) {
  const auto found = root.find(key);
  if (found == root.end() || !found->is_array()) {
    return InvalidArgument("key '{}' is to be a list", key);
  }
  return &*found;
}

absl::StatusOr<int64_t> BytesOf(const json& node, size_t at) {
  const auto bytes = node.find("bytes");
  const bool is_whole = bytes != node.end() && bytes->is_number_integer();
  const bool is_too_large = is_whole && bytes->is_number_unsigned() &&
                            bytes->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  if (!is_whole || is_too_large || bytes->get<int64_t>() < 0) {
    return InvalidArgument("nodes[{}]: 'bytes' is to be a whole number of 0 to 2^62: {}", at,
                           Show(node));
  }
  return bytes->get<int64_t>();
}

using Numbers = std::map<json, int>;  // id -> node

absl::Status ReadNodes(const json& nodes, NamedGraph& named, Numbers& numbers) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const json& node = nodes[i];
    if (!node.is_object()) return InvalidArgument("nodes[{}] is to be an object", i);
    const auto id = node.find("id");
    if (id == node.end() || !(id->is_number_integer() || id->is_string())) {
      return InvalidArgument("nodes[{}]: 'id' is to be an integer or a string: {}", i, Show(node));
    }
    const auto [known, is_new] = numbers.emplace(*id, static_cast<int>(i));
    if (!is_new) {
      return InvalidArgument("nodes[{}] has the id {} of nodes[{}]", i, Show(*id), known->second);
    }
    BERTH_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(node, i));
    named.ids.push_back(*id);
    named.graph.output_bytes.push_back(bytes);
  }
  return absl::OkStatus();
}

absl::Status ReadEdges(const json& edges, const Numbers& numbers, PlainGraph& graph) {
  for (size_t i = 0; i < edges.size(); ++i) {
    const json& edge = edges[i];
    if (!edge.is_array() || edge.size() != 2) {
      return InvalidArgument("edges[{}] is to be [producer, consumer]: {}", i, Show(edge));
    }
    int ends[2] = {};
    for (size_t end = 0; end < 2; ++end) {
      const auto node = numbers.find(edge[end]);
      if (node == numbers.end()) {
        return InvalidArgument("edges[{}]: no node has the id {}", i, Show(edge[end]));
      }
      ends[end] = node->second;
    }
    graph.edges.emplace_back(ends[0], ends[1]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NamedGraph> ParseOrderGraph(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json root, ParseJson<json>(text));
  if (!root.is_object()) return InvalidArgument("not a JSON object");
  BERTH_ASSIGN_OR_RETURN(const json* nodes, ListOf(root, "nodes"));
  BERTH_ASSIGN_OR_RETURN(const json* edges, ListOf(root, "edges"));
  if (nodes->empty()) return InvalidArgument("no nodes: nothing to order");
  NamedGraph named;
  Numbers numbers;
  BERTH_RETURN_IF_ERROR(ReadNodes(*nodes, named, numbers));
  BERTH_RETURN_IF_ERROR(ReadEdges(*edges, numbers, named.graph));
  return named;
}

absl::StatusOr<OrderProblem> ToOrderProblem(const NamedGraph& named) {
  BERTH_ASSIGN_OR_RETURN(OrderProblem problem, ToOrderProblem(named.graph));
  const std::vector<int> cycle = FindCycle(problem);
  if (cycle.empty()) return problem;
  std::vector<std::string> names;
  for (size_t i = 0; i < cycle.size() && i < kShownNodes; ++i) {
    names.push_back(Show(named.ids[static_cast<size_t>(cycle[i])]));
  }
  if (cycle.size() > kShownNodes) names.push_back("...");
  names.push_back(names.front());
  return InvalidArgument("a cycle of {} nodes: {}", cycle.size(), fmt::join(names, " -> "));
}

}  // namespace berth
