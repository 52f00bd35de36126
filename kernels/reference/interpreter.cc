#include "kernels/reference/reference.h"

namespace berth {
namespace {

// The operands of a node in the order that EvaluateNode takes them.
std::vector<ValueId> OperandsOf(const Node& node) {
  std::vector<ValueId> ids = node.inputs;
  for (const FusedOp& fused : node.tail) {
    for (size_t i = 0; i < fused.operands.size(); ++i) {
      if (static_cast<int>(i) != fused.flow_position) ids.push_back(fused.operands[i]);
    }
  }
  return ids;
}

// Values computed so far. A value is dropped after its last reader.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph)
      : graph_(graph), uses_(ComputeUses(graph)), values_(graph.values.size()) {
    for (const ValueId id : graph.outputs) uses_.readers[Index(id)].push_back(kNever);
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) {
    BERTH_RETURN_IF_ERROR(Bind(inputs));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      BERTH_RETURN_IF_ERROR(RunNode(graph_.nodes[i]));
      DropDead(graph_.nodes[i], static_cast<int>(i));
    }
    std::vector<Tensor> outputs;
    for (const ValueId id : graph_.outputs) outputs.push_back(*Get(id));
    return outputs;
  }

 private:
  static constexpr int kNever = 0x7fffffff;

  absl::Status Bind(absl::Span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return InvalidArgument("{} inputs given, the graph has {}", inputs.size(),
                             graph_.inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = graph_.at(graph_.inputs[i]);
      if (inputs[i].type() != value.type) {
        return InvalidArgument("input '{}' is {}, expected {}", value.name,
                               inputs[i].type().ToString(), value.type.ToString());
      }
      values_[Index(graph_.inputs[i])] = std::make_shared<const Tensor>(inputs[i]);
    }
    return absl::OkStatus();
  }

  const Tensor* Get(ValueId id) const {
    if (id == ValueId::kNone) return nullptr;
    const Tensor* constant = graph_.at(id).constant.get();
    return constant ? constant : values_[Index(id)].get();
  }

  absl::Status RunNode(const Node& node) {
    std::vector<ConstTensorView> views;
    for (const ValueId id : OperandsOf(node)) {
      const Tensor* tensor = Get(id);
      views.push_back(tensor ? tensor->view() : ConstTensorView());
    }
    BERTH_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(graph_, node, views));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ValueId::kNone) continue;
      values_[Index(node.outputs[i])] = std::make_shared<const Tensor>(std::move(results[i]));
    }
    return absl::OkStatus();
  }

  void DropDead(const Node& node, int position) {
    const auto drop = [&](ValueId id) {
      const std::vector<int>& readers = uses_.readers[Index(id)];
      if (readers.empty() || readers.back() <= position) values_[Index(id)].reset();
    };
    for (const ValueId id : ReadValues(node)) drop(id);
    for (const ValueId id : node.outputs) {
      if (id != ValueId::kNone) drop(id);
    }
  }

  const Graph& graph_;
  GraphUses uses_;
  std::vector<std::shared_ptr<const Tensor>> values_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> Interpret(const Graph& graph, absl::Span<const Tensor> inputs) {
  return Interpreter(graph).Run(inputs);
}

}  // namespace berth
