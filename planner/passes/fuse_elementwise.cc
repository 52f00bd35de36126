#include "planner/passes/fuse_elementwise.h"

#include <algorithm>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"

namespace berth {
namespace {

// Each operand of a tail takes scratchpad beside every tile of the node.
constexpr size_t kMaxTailOps = 16;
constexpr int kMaxTailOperands = 6;

// Ops that compute finish their tiles with the tail; views and ops on the host do not.
bool AcceptsTail(const Node& node) {
  const OpDef& op = GetOpDef(node.kind);
  return op.lower != nullptr && op.view == ViewKind::kNone && !op.needs_dense &&
         node.outputs.size() == 1 && node.tail.size() < kMaxTailOps;
}

// Operands that take a tile; known single elements are parameters of commands for the most part.
int TileOperandCount(const Graph& graph, const std::vector<ValueId>& operands) {
  return static_cast<int>(std::count_if(operands.begin(), operands.end(), [&](ValueId id) {
    if (id == ValueId::kNone) return false;
    const Value& value = graph.at(id);
    return value.constant == nullptr || value.type.shape.ElementCount() > 1;
  }));
}

int TailOperandCount(const Graph& graph, const Node& node) {
  int count = 0;
  for (const FusedOp& fused : node.tail) count += TileOperandCount(graph, fused.operands);
  return count;
}

class Fuser {
 public:
  explicit Fuser(Graph& graph)
      : graph_(graph),
        reader_(SingleReaders(graph)),
        producer_(ComputeUses(graph).producer),
        removed_(graph.nodes.size()) {}

  void Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) TryFuse(static_cast<int>(i));
    RemoveNodes(graph_, removed_);
  }

 private:
  Node& at(int position) { return graph_.nodes[static_cast<size_t>(position)]; }

  void TryFuse(int position) {
    const Node& node = at(position);
    if (!GetOpDef(node.kind).elementwise || node.outputs.size() != 1 || !node.tail.empty()) return;
    int flow = -1;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!MayFlow(node, position, i)) continue;
      if (flow < 0 || MakerOf(node, i) > MakerOf(node, static_cast<size_t>(flow))) {
        flow = static_cast<int>(i);
      }
    }
    if (flow >= 0) Fuse(position, flow);
  }

  int MakerOf(const Node& node, size_t operand) const {
    return producer_[Index(node.inputs[operand])];
  }

  bool MayFlow(const Node& node, int position, size_t operand) {
    const ValueId id = node.inputs[operand];
    if (id == ValueId::kNone || reader_[Index(id)] != position) return false;
    const int maker = producer_[Index(id)];
    if (maker < 0 || !AcceptsTail(at(maker))) return false;
    const int operands =
        TailOperandCount(graph_, at(maker)) + TileOperandCount(graph_, node.inputs) - 1;
    return operands <= kMaxTailOperands &&
           graph_.at(id).type.shape == graph_.at(node.outputs[0]).type.shape;
  }

  void Fuse(int position, int flow) {
    Node& node = at(position);
    const int maker = MakerOf(node, static_cast<size_t>(flow));
    FusedOp fused;
    fused.kind = node.kind;
    fused.attributes = std::move(node.attributes);
    fused.operands = std::move(node.inputs);
    fused.operands[static_cast<size_t>(flow)] = ValueId::kNone;
    fused.flow_position = flow;
    fused.dtype = graph_.at(node.outputs[0]).type.dtype;
    fused.name = std::move(node.name);
    const ValueId result = node.outputs[0];
    node = std::move(at(maker));
    removed_[static_cast<size_t>(maker)] = true;
    for (const ValueId id : ReadValues(node)) {
      if (reader_[Index(id)] == maker) reader_[Index(id)] = position;
    }
    node.tail.push_back(std::move(fused));
    node.outputs[0] = result;
    producer_[Index(result)] = position;
  }

  Graph& graph_;
  std::vector<int> reader_;
  std::vector<int> producer_;
  std::vector<bool> removed_;
};

}  // namespace

absl::Status FuseElementwise(Graph& graph) {
  Fuser(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
