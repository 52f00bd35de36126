#include "planner/order/local_order.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace berth {
namespace {

using Bits = std::vector<uint64_t>;

// How many nodes hang on each node, directly or not.
std::vector<int> CountDescendants(const std::vector<std::vector<int>>& readers) {
  const size_t count = readers.size(), words = (count + 63) / 64;
  std::vector<Bits> below(count, Bits(words, 0));
  std::vector<int> descendants(count, 0);
  for (size_t node = count; node-- > 0;) {
    for (const int reader : readers[node]) {
      const auto r = static_cast<size_t>(reader);
      below[node][r / 64] |= uint64_t{1} << (r % 64);
      for (size_t word = 0; word < words; ++word) below[node][word] |= below[r][word];
    }
    for (const uint64_t word : below[node]) descendants[node] += __builtin_popcountll(word);
  }
  return descendants;
}

}  // namespace

void OrderLocally(Graph& graph) {
  const GraphUses uses = ComputeUses(graph);
  const size_t count = graph.nodes.size();
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);  // producers that have not run
  for (size_t node = 0; node < count; ++node) {
    std::set<int> producers;
    for (const ValueId id : ReadValues(graph.nodes[node])) {
      if (uses.producer[Index(id)] >= 0) producers.insert(uses.producer[Index(id)]);
    }
    for (const int producer : producers) {
      readers[static_cast<size_t>(producer)].push_back(static_cast<int>(node));
    }
    missing[node] = static_cast<int>(producers.size());
  }
  const std::vector<int> descendants = CountDescendants(readers);
  // Latest made input first (as a negative position), then fewest descendants, then as it came.
  std::set<std::tuple<int, int, int>> ready;
  const auto offer = [&](int node, int made_at) {
    ready.emplace(-made_at, descendants[static_cast<size_t>(node)], node);
  };
  for (size_t node = 0; node < count; ++node) {
    if (missing[node] == 0) offer(static_cast<int>(node), -1);
  }
  std::vector<Node> ordered;
  while (!ready.empty()) {
    const int node = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    const int position = static_cast<int>(ordered.size());
    ordered.push_back(std::move(graph.nodes[static_cast<size_t>(node)]));
    for (const int reader : readers[static_cast<size_t>(node)]) {
      if (--missing[static_cast<size_t>(reader)] == 0) offer(reader, position);
    }
  }
  graph.nodes = std::move(ordered);
}

}  // namespace berth
