#include "planner/passes/hoist_elementwise.h"

#include <algorithm>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"

namespace berth {
namespace {

class Hoister {
 public:
  explicit Hoister(Graph& graph)
      : graph_(graph),
        reader_(SingleReaders(graph)),
        names_(graph),
        maker_(graph.values.size(), -1) {}

  void Run() {
    for (Node& node : graph_.nodes) {
      const int operand = HoistableOperand(node);
      if (operand < 0) {
        Append(std::move(node));
      } else {
        Hoist(node, static_cast<size_t>(operand));
      }
    }
    graph_.nodes = std::move(nodes_);
    RemoveNodes(graph_, removed_);
  }

 private:
  void Append(Node node) {
    for (const ValueId id : node.outputs) {
      if (id == ValueId::kNone) continue;
      maker_.resize(std::max(maker_.size(), Index(id) + 1), -1);
      maker_[Index(id)] = static_cast<int>(nodes_.size());
    }
    nodes_.push_back(std::move(node));
    removed_.push_back(false);
  }

  const Node* MakerOf(ValueId id) const {
    const int maker = Index(id) < maker_.size() ? maker_[Index(id)] : -1;
    return maker < 0 ? nullptr : &nodes_[static_cast<size_t>(maker)];
  }

  // Values added here are read by the one node that was added after them.
  bool IsReadOnce(ValueId id) const {
    return Index(id) >= reader_.size() || reader_[Index(id)] >= 0;
  }

  // The only operand that is no scalar constant, if it can be passed by; -1 otherwise.
  int HoistableOperand(const Node& node) const {
    if (!GetOpDef(node.kind).elementwise || node.outputs.size() != 1 || !node.tail.empty()) {
      return -1;
    }
    int operand = -1;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == ValueId::kNone) continue;
      const Value& value = graph_.at(id);
      if (value.constant && value.type.shape.rank() == 0) continue;
      if (operand >= 0 || !IsPassable(id)) return -1;
      if (value.type.shape != graph_.at(node.outputs[0]).type.shape) return -1;
      operand = static_cast<int>(i);
    }
    return operand;
  }

  bool IsPassable(ValueId id) const {
    const Node* maker = MakerOf(id);
    if (maker == nullptr || !IsReadOnce(id) || !maker->tail.empty()) return false;
    if (maker->kind == OpKind::kReshape) return IsComputedHere(maker->inputs[0]);
    if (maker->kind != OpKind::kConcat) return false;
    return std::all_of(maker->inputs.begin(), maker->inputs.end(), [&](ValueId source) {
      return IsComputedHere(source) && GetOpDef(MakerOf(source)->kind).view == ViewKind::kNone;
    });
  }

  bool IsComputedHere(ValueId id) const { return MakerOf(id) != nullptr && IsReadOnce(id); }

  void Hoist(const Node& node, size_t operand) {
    const int maker = maker_[Index(node.inputs[operand])];
    removed_[static_cast<size_t>(maker)] = true;
    Node after = nodes_[static_cast<size_t>(maker)];
    const size_t sources = after.kind == OpKind::kConcat ? after.inputs.size() : 1;
    const ValueId result = node.outputs[0];
    for (size_t i = 0; i < sources; ++i) {
      Node before = node;
      if (i > 0) before.name = names_.Fresh(node.name + "/part");
      before.inputs[operand] = after.inputs[i];
      const TensorType type{graph_.at(result).type.dtype, graph_.at(after.inputs[i]).type.shape};
      before.outputs[0] = graph_.AddValue(names_.Fresh(node.name + "/hoisted"), type);
      after.inputs[i] = before.outputs[0];
      Append(std::move(before));
    }
    after.outputs[0] = result;
    Append(std::move(after));
  }

  Graph& graph_;
  std::vector<int> reader_;  // of the values that were there at the start
  NameSource names_;
  std::vector<int> maker_;  // position in nodes_
  std::vector<Node> nodes_;
  std::vector<bool> removed_;
};

}  // namespace

absl::Status HoistElementwise(Graph& graph) {
  Hoister(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
