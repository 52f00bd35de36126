#include "planner/quantize/selection.h"

#include <algorithm>
#include <numeric>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"

namespace berth {
namespace {

// A pool or mean that keeps at most one value in so many ends a part of the model that is worth
// storing as integers; a sliding maximum (stride 1) does not.
constexpr int64_t kReduction = 4;

bool Reduces(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case OpKind::kAveragePool:
    case OpKind::kMaxPool:
    case OpKind::kGlobalAveragePool:
    case OpKind::kGlobalMaxPool:
    case OpKind::kReduceMean:
    case OpKind::kReduceMax:
      return graph.at(node.inputs[0]).type.shape.ElementCount() >=
             kReduction * graph.at(node.outputs[0]).type.shape.ElementCount();
    default:
      return false;
  }
}

// Scales that have become one.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[Root(b)] = Root(a); }

 private:
  std::vector<size_t> parent_;
};

class Selector {
 public:
  explicit Selector(const Graph& graph)
      : graph_(graph),
        uses_(ComputeUses(graph)),
        reader_(SingleReaders(graph)),
        stored_(graph.values.size(), false) {}

  Selection Run() {
    for (const Node& node : graph_.nodes) selection_.roles.push_back(RoleOf(graph_, node));
    FindEnd();
    Spread();
    DropUnread();
    LetFlow();
    StoreConstants();
    AssignGroups();
    return std::move(selection_);
  }

 private:
  using Role = QuantizeRole;

  const Node& NodeAt(int position) const { return graph_.nodes[static_cast<size_t>(position)]; }
  Role& RoleAt(size_t position) { return selection_.roles[position]; }
  bool IsActivation(ValueId id) const {
    return id != ValueId::kNone && graph_.at(id).constant == nullptr &&
           graph_.at(id).type.dtype == DType::kFloat32;
  }

  // The data of a node that are no constants.
  std::vector<ValueId> Activations(const Node& node) const {
    std::vector<ValueId> found;
    size_t count = DataInputCount(graph_, node);
    for (size_t i = 0; i < std::min(count, node.inputs.size()); ++i) {
      if (IsActivation(node.inputs[i])) found.push_back(node.inputs[i]);
    }
    return found;
  }

  // Values from which no product and no reduction is reached.
  void FindEnd() {
    ends_.assign(graph_.values.size(), true);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      bool leads = RoleAt(n) == Role::kProduct || Reduces(graph_, node);
      for (const ValueId id : node.outputs) leads |= id != ValueId::kNone && !ends_[Index(id)];
      if (!leads) continue;
      for (const ValueId id : node.inputs) {
        if (id != ValueId::kNone) ends_[Index(id)] = false;
      }
    }
  }

  // From the inputs and the products on: an op whose activations are all stored stores its own.
  void Spread() {
    for (const ValueId id : graph_.inputs) stored_[Index(id)] = IsActivation(id);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const std::vector<ValueId> data = Activations(node);
      if (RoleAt(n) == Role::kProduct) {
        for (const ValueId id : data) stored_[Index(id)] = true;
      } else if (data.empty() || !std::all_of(data.begin(), data.end(),
                                              [&](ValueId id) { return stored_[Index(id)]; })) {
        RoleAt(n) = Role::kFloat;
      }
      if (RoleAt(n) == Role::kFloat) continue;
      for (const ValueId id : node.outputs) {
        if (IsActivation(id) && !ends_[Index(id)]) stored_[Index(id)] = true;
      }
    }
  }

  // What only float ops and the caller read need not be rounded.
  void DropUnread() {
    for (size_t v = 0; v < stored_.size(); ++v) {
      const std::vector<int>& readers = uses_.readers[v];
      stored_[v] = stored_[v] && std::any_of(readers.begin(), readers.end(), [&](int reader) {
                     return RoleAt(static_cast<size_t>(reader)) != Role::kFloat;
                   });
    }
  }

  // Whether the op at `reader` finishes what the op at `maker` hands it, in the same command.
  bool FinishesAlone(int maker, int reader, ValueId value) const {
    const Role role = selection_.roles[static_cast<size_t>(maker)];
    const Node& next = NodeAt(reader);
    if (role != Role::kProduct && role != Role::kCompute) return false;
    if (selection_.roles[static_cast<size_t>(reader)] != Role::kCompute) return false;
    if (!GetOpDef(next.kind).elementwise) return false;
    return graph_.at(next.outputs[0]).type.shape == graph_.at(value).type.shape;
  }

  // At most one operand of each node flows: the one that is made last.
  void LetFlow() {
    std::vector<ValueId> flowing(graph_.nodes.size(), ValueId::kNone);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId value : graph_.nodes[n].outputs) {
        if (value == ValueId::kNone || !stored_[Index(value)]) continue;
        const int reader = reader_[Index(value)];
        if (reader < 0 || !FinishesAlone(static_cast<int>(n), reader, value)) continue;
        flowing[static_cast<size_t>(reader)] = value;
      }
    }
    for (const ValueId value : flowing) {
      if (value != ValueId::kNone) stored_[Index(value)] = false;
    }
  }

  // Constants as large as the result, those that a movement brings together with activations, and
  // those that an activation is multiplied onto.
  void StoreConstants() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (RoleAt(n) == Role::kFloat) continue;
      if (RoleAt(n) == Role::kProduct) {
        if (graph_.at(node.inputs[0]).constant != nullptr) stored_[Index(node.inputs[0])] = true;
        continue;
      }
      if (RoleAt(n) == Role::kMove && !stored_[Index(node.outputs[0])]) continue;
      const int64_t result = graph_.at(node.outputs[0]).type.shape.ElementCount();
      const size_t count = std::min(DataInputCount(graph_, node), node.inputs.size());
      for (size_t i = 0; i < count; ++i) {
        const Value& value = graph_.at(node.inputs[i]);
        if (value.constant == nullptr || value.type.dtype != DType::kFloat32) continue;
        const bool large =
            value.type.shape.ElementCount() > 1 && value.type.shape.ElementCount() == result;
        if (RoleAt(n) == Role::kMove || large) stored_[Index(node.inputs[i])] = true;
      }
    }
  }

  void AssignGroups() {
    Groups groups(graph_.values.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (RoleAt(n) != Role::kMove || !stored_[Index(node.outputs[0])]) continue;
      const size_t count = std::min(DataInputCount(graph_, node), node.inputs.size());
      for (size_t i = 0; i < count; ++i) groups.Join(Index(node.outputs[0]), Index(node.inputs[i]));
      for (const ValueId id : node.outputs) {
        if (IsActivation(id)) groups.Join(Index(node.outputs[0]), Index(id));
      }
    }
    selection_.group.assign(stored_.size(), -1);
    std::vector<int> number(stored_.size(), -1);
    for (size_t v = 0; v < stored_.size(); ++v) {
      if (!stored_[v]) continue;
      int& group = number[groups.Root(v)];
      if (group < 0) group = selection_.group_count++;
      selection_.group[v] = group;
    }
  }

  const Graph& graph_;
  const GraphUses uses_;
  const std::vector<int> reader_;
  std::vector<bool> stored_;  // by value
  std::vector<bool> ends_;    // by value: nothing behind it is worth integers
  Selection selection_;
};

}  // namespace

Selection SelectValues(const Graph& graph) { return Selector(graph).Run(); }

}  // namespace berth
