// The graph file of `berth order`:
//   {"nodes": [{"id": 0, "bytes": 100}, ...], "edges": [[0, 1], ...]}
// Ids are integers or strings, as the file likes.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "planner/order/plain_graph.h"

namespace berth {

struct NamedGraph {
  PlainGraph graph;                 // nodes in the file's order
  std::vector<nlohmann::json> ids;  // per node
};

// InvalidArgument where the text is no such graph, or one without nodes.
absl::StatusOr<NamedGraph> ParseOrderGraph(std::string_view text);

// The problem of a graph without cycles; InvalidArgument names the nodes of one.
absl::StatusOr<OrderProblem> ToOrderProblem(const NamedGraph& named);

}  // namespace berth
