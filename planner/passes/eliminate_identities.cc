#include "planner/passes/eliminate_identities.h"

#include <algorithm>
#include <numeric>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"
#include "kernels/ops/axis_map.h"

namespace berth {
namespace {

bool IsIdentityMap(const absl::StatusOr<AxisMap>& map, const Shape& shape) {
  if (!map.ok()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const AxisSegments& segments = map->axes[static_cast<size_t>(axis)];
    if (segments.size() != 1 || segments[0].source != 0 || segments[0].begin != 0 ||
        segments[0].count != shape[axis] || (shape[axis] > 1 && segments[0].step != 1)) {
      return false;
    }
  }
  return true;
}

bool IsInOrder(const std::vector<int64_t>& perm, int rank) {
  if (perm.empty()) return rank <= 1;  // the default reverses
  return std::is_sorted(perm.begin(), perm.end());
}

// Input 0 comes back as it is. Input and output types are known to be equal.
bool GivesBackItsInput(const Graph& graph, const Node& node) {
  const Shape& shape = graph.at(node.inputs[0]).type.shape;
  const NodeCall call(graph, node);
  switch (node.kind) {
    case OpKind::kIdentity:
    case OpKind::kDropout:
    case OpKind::kCast:
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kExpand:
    case OpKind::kTile:
      return true;
    case OpKind::kConcat:
    case OpKind::kSum:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kMean:
      return node.inputs.size() == 1;
    case OpKind::kTranspose:
      return IsInOrder(node.attributes.Ints("perm"), shape.rank());
    case OpKind::kSlice:
      return IsIdentityMap(SliceMap(call.call()), shape);
    case OpKind::kPad:
      return IsIdentityMap(PadMap(call.call()), shape);
    default:
      return false;
  }
}

bool IsIdentityNode(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !node.tail.empty()) return false;
  const ValueId in = node.inputs[0], out = node.outputs[0];
  if (in == ValueId::kNone || out == ValueId::kNone) return false;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != ValueId::kNone) return false;
  }
  return graph.at(in).type == graph.at(out).type && GivesBackItsInput(graph, node);
}

}  // namespace

absl::Status EliminateIdentities(Graph& graph) {
  Replacements replacements(graph.values.size(), ValueId::kNone);
  std::vector<bool> removed(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!IsIdentityNode(graph, node)) continue;
    replacements[Index(node.outputs[0])] = node.inputs[0];
    removed[i] = true;
  }
  ReplaceValues(graph, replacements);
  RemoveNodes(graph, removed);
  return absl::OkStatus();
}

absl::Status MergeReshapes(Graph& graph) {
  // What each reshaped value was reshaped from.
  std::vector<ValueId> source(graph.values.size(), ValueId::kNone);
  for (Node& node : graph.nodes) {
    if (node.kind != OpKind::kReshape || !node.tail.empty()) continue;
    const ValueId in = node.inputs[0];
    const ValueId origin = source[Index(in)] == ValueId::kNone ? in : source[Index(in)];
    source[Index(node.outputs[0])] = origin;
    if (origin == in) continue;
    // The target may say "as in the input" or "the rest": state it outright.
    std::string name = node.name;
    node = MakeReshape(graph, std::move(name), origin, node.outputs[0]);
    source.resize(graph.values.size(), ValueId::kNone);
  }
  RemoveDeadNodes(graph);
  return EliminateIdentities(graph);
}

absl::Status EliminateDead(Graph& graph) {
  RemoveDeadNodes(graph);
  RemoveUnusedValues(graph);
  return absl::OkStatus();
}

}  // namespace berth
