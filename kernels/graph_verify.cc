#include "base/status.h"
#include "kernels/control_flow.h"
#include "kernels/graph.h"

namespace berth {
namespace {

// Walks the nodes in order and remembers which values exist already.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), available_(graph.values.size()) {}

  absl::Status Run() {
    BERTH_RETURN_IF_ERROR(CheckSources());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (absl::Status status = CheckNode(graph_.nodes[i]); !status.ok()) {
        const Node& node = graph_.nodes[i];
        return Annotate(status, fmt::format("node {} ({} '{}')", i, OpName(node.kind), node.name));
      }
    }
    for (const ValueId id : graph_.outputs) {
      BERTH_RETURN_IF_ERROR(Annotate(CheckAvailable(id), "graph output"));
    }
    return CheckStates();
  }

 private:
  absl::Status CheckId(ValueId id) const {
    if (Index(id) < graph_.values.size()) return absl::OkStatus();
    return InvalidArgument("value {} is outside [0, {})", static_cast<int32_t>(id),
                           graph_.values.size());
  }

  absl::Status CheckAvailable(ValueId id) const {
    BERTH_RETURN_IF_ERROR(CheckId(id));
    if (available_[Index(id)]) return absl::OkStatus();
    return InvalidArgument("value {} '{}' is read before anything produces it",
                           static_cast<int32_t>(id), graph_.at(id).name);
  }

  absl::Status CheckSources() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (!value.constant) continue;
      available_[i] = true;
      if (value.constant->type() != value.type) {
        return InvalidArgument("constant '{}' holds {} but is declared {}", value.name,
                               value.constant->type().ToString(), value.type.ToString());
      }
    }
    for (const ValueId id : graph_.inputs) {
      BERTH_RETURN_IF_ERROR(Annotate(CheckId(id), "graph input"));
      if (available_[Index(id)]) {
        return InvalidArgument("graph input '{}' is a constant or stands twice",
                               graph_.at(id).name);
      }
      available_[Index(id)] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckStates() const {
    std::vector<bool> bound_inputs(graph_.inputs.size()), bound_outputs(graph_.outputs.size());
    for (const GraphState& state : graph_.states) {
      if (state.input >= bound_inputs.size() || state.output >= bound_outputs.size() ||
          bound_inputs[state.input] || bound_outputs[state.output]) {
        return InvalidArgument(
            "state '{}': input {} of {} or output {} of {} is absent or bound twice", state.name,
            state.input, bound_inputs.size(), state.output, bound_outputs.size());
      }
      bound_inputs[state.input] = bound_outputs[state.output] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(const Node& node) {
    if (node.kind >= OpKind::kCount && !IsControlFlow(node.kind)) {
      return InvalidArgument("op {} is unknown", static_cast<int>(node.kind));
    }
    for (const ValueId id : node.inputs) {
      if (id != ValueId::kNone) BERTH_RETURN_IF_ERROR(CheckAvailable(id));
    }
    for (const FusedOp& fused : node.tail) BERTH_RETURN_IF_ERROR(CheckFused(fused));
    for (const ValueId id : node.outputs) {
      if (id == ValueId::kNone) continue;
      BERTH_RETURN_IF_ERROR(CheckId(id));
      if (available_[Index(id)]) {
        return InvalidArgument("value '{}' has a second producer", graph_.at(id).name);
      }
      available_[Index(id)] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckFused(const FusedOp& fused) const {
    const auto position = static_cast<size_t>(fused.flow_position);
    if (position >= fused.operands.size() || fused.operands[position] != ValueId::kNone) {
      return InvalidArgument("fused {} '{}' does not read the flowing value at operand {}",
                             OpName(fused.kind), fused.name, fused.flow_position);
    }
    for (const ValueId id : fused.operands) {
      if (id != ValueId::kNone) BERTH_RETURN_IF_ERROR(CheckAvailable(id));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  std::vector<bool> available_;
};

}  // namespace

absl::Status VerifyGraph(const Graph& graph) {
  return Annotate(Verifier(graph).Run(), fmt::format("graph '{}'", graph.name));
}

}  // namespace berth
