#include "planner/onnx/sort_nodes.h"

#include <functional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth {
namespace {

using Producers = std::unordered_map<std::string, int>;

// False where a name has two producers.
bool FindProducers(const onnx::GraphProto& graph, Producers& producers) {
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      if (!name.empty() && !producers.emplace(name, i).second) return false;
    }
  }
  return true;
}

// Every name that the node reads, graphs inside it included.
void CollectReads(const onnx::NodeProto& node, std::set<std::string>& names) {
  std::vector<const onnx::NodeProto*> rest = {&node};
  while (!rest.empty()) {
    const onnx::NodeProto& next = *rest.back();
    rest.pop_back();
    names.insert(next.input().begin(), next.input().end());
    for (const auto& attribute : next.attribute()) {
      for (const auto& inner : attribute.g().node()) rest.push_back(&inner);
      for (const auto& output : attribute.g().output()) names.insert(output.name());
      for (const auto& graph : attribute.graphs()) {
        for (const auto& inner : graph.node()) rest.push_back(&inner);
        for (const auto& output : graph.output()) names.insert(output.name());
      }
    }
  }
}

}  // namespace

void SortNodes(onnx::GraphProto& graph) {
  Producers producers;
  if (!FindProducers(graph, producers)) return;
  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count);
  bool sorted = true;
  for (size_t i = 0; i < count; ++i) {
    std::set<std::string> names;
    CollectReads(graph.node(static_cast<int>(i)), names);
    std::set<int> sources;
    for (const std::string& name : names) {
      const auto found = producers.find(name);
      if (found != producers.end()) sources.insert(found->second);
    }
    for (const int source : sources) {
      readers[static_cast<size_t>(source)].push_back(static_cast<int>(i));
      sorted = sorted && source < static_cast<int>(i);
    }
    missing[i] = static_cast<int>(sources.size());
  }
  if (sorted) return;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int reader : readers[static_cast<size_t>(order.back())]) {
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() != count) return;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (const int position : order) nodes.Add()->Swap(graph.mutable_node(position));
  graph.mutable_node()->Swap(&nodes);
}

}  // namespace berth
