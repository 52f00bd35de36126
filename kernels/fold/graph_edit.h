// The few edits of a graph that passes are made of. All keep the order of nodes otherwise.
#pragma once

#include <string>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// What each value is to be replaced by; kNone: stays. Chains are followed.
using Replacements = std::vector<ValueId>;

// Every reader of a replaced value (nodes, tails, graph outputs) reads its replacement. One sweep.
void ReplaceValues(Graph& graph, const Replacements& replacements);

// Drops the nodes that are marked.
void RemoveNodes(Graph& graph, const std::vector<bool>& marked);

// Drops nodes whose results nobody reads; optional outputs that nobody reads become kNone.
void RemoveDeadNodes(Graph& graph);

// Optional outputs (all but the first) that nobody reads become kNone.
void DropUnreadOutputs(Graph& graph);

// Drops values that no node, input or output names; ids are renumbered in the same order.
void RemoveUnusedValues(Graph& graph);

bool IsGraphOutput(const Graph& graph, ValueId id);

// The only position that reads each value, or -1 for none, several (the same node twice counts as
// two) or a graph output.
std::vector<int> SingleReaders(const Graph& graph);

// `name`, or with a number behind it where a value of that name exists already.
class NameSource {
 public:
  explicit NameSource(const Graph& graph);
  std::string Fresh(const std::string& name);

 private:
  std::map<std::string, int, std::less<>> next_;
};

// New nodes, of the version of GraphRewriter's.
Node MakeReshape(Graph& graph, std::string name, ValueId input, ValueId output);
Node MakeTranspose(std::string name, ValueId input, ValueId output,
                   const std::vector<int64_t>& perm);

ValueId AddInt64s(Graph& graph, const std::string& name, const std::vector<int64_t>& values);

}  // namespace berth
