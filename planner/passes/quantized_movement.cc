#include "planner/passes/quantized_movement.h"

#include <algorithm>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"
#include "kernels/rewrite.h"
#include "planner/passes/quantized_graph.h"

namespace berth {
namespace {

bool GivesPositions(const Node& node) {
  return node.kind == OpKind::kArgMax || node.kind == OpKind::kArgMin;
}

// Q(DQ(q)) = q holds for these: no quotient leaves the normal range.
bool Cancels(const TensorQuantization& a, const TensorQuantization& b) {
  return a == b && a.scale > 1e-30f && a.scale < 1e30f;
}

class Mover {
 public:
  explicit Mover(Graph& graph) : graph_(graph), names_(graph) {}

  // Each node in turn, on what stands before it.
  void Sink() {
    std::vector<Node> before = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : before) {
      if (!SinkBelow(node)) Append(std::move(node));
    }
  }

  // From the end, so that a QuantizeLinear climbs over several nodes.
  void Raise() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const size_t count = graph_.nodes.size();
      // The nodes that made way stand behind `i` now.
      if (RaiseAbove(i)) i += graph_.nodes.size() - count + 1;
    }
  }

  void Cancel() {
    const QuantizedGraph quantized(graph_);
    for (Node& node : graph_.nodes) {
      const auto by = quantized.QuantizerOf(node);
      if (!by) continue;
      const auto source = quantized.Dequantized(node.inputs[0]);
      if (!source || !Cancels(source->by, *by)) continue;
      if (graph_.at(source->stored).type != graph_.at(node.outputs[0]).type) continue;
      node.kind = OpKind::kIdentity;
      node.attributes = {};
      node.inputs = {source->stored};
    }
  }

 private:
  void Append(Node node) {
    for (const ValueId id : node.outputs) {
      if (id == ValueId::kNone) continue;
      maker_.resize(std::max(maker_.size(), Index(id) + 1), -1);
      maker_[Index(id)] = static_cast<int>(graph_.nodes.size());
    }
    graph_.nodes.push_back(std::move(node));
  }

  const Node* MakerOf(ValueId id) const {
    const int maker = Index(id) < maker_.size() ? maker_[Index(id)] : -1;
    return maker < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(maker)];
  }

  struct Source {
    ValueId stored, scale, zero_point;
    TensorQuantization by;
  };
  std::optional<Source> SourceOf(ValueId id) const {
    const Node* maker = MakerOf(id);
    if (maker == nullptr || maker->kind != OpKind::kDequantizeLinear) return std::nullopt;
    const NodeCall call(graph_, *maker);
    const auto by = KnownTensorQuantization(call.call());
    if (!by || !IsQuantizedDType(call.call().input(0).dtype)) return std::nullopt;
    if (call.call().output().dtype != DType::kFloat32) return std::nullopt;
    const ValueId zero_point = maker->inputs.size() > 2 ? maker->inputs[2] : ValueId::kNone;
    return Source{maker->inputs[0], maker->inputs[1], zero_point, *by};
  }

  // The one quantization of all data inputs.
  std::optional<Source> CommonSource(const Node& node, size_t count) const {
    const auto first = SourceOf(node.inputs[0]);
    for (size_t i = 1; first && i < count; ++i) {
      const auto other = SourceOf(node.inputs[i]);
      if (!other || other->by != first->by) return std::nullopt;
      if (graph_.at(other->stored).type.dtype != graph_.at(first->stored).type.dtype) {
        return std::nullopt;
      }
    }
    return first;
  }

  // A pad of zeros becomes one of zero points; nothing for other values.
  bool SetPadValue(const Source& source, Node& node) {
    if (node.attributes.String("mode", "constant") != "constant") {
      if (node.inputs.size() > 2) node.inputs[2] = ValueId::kNone;
      return true;
    }
    if (node.opset < 11) return false;
    const bool has_value = node.inputs.size() > 2 && node.inputs[2] != ValueId::kNone;
    if (has_value && SingleFloat(graph_.at(node.inputs[2]).constant.get()) != 0.0f) return false;
    node.inputs.resize(std::max<size_t>(node.inputs.size(), 3), ValueId::kNone);
    Tensor value(TensorType{graph_.at(source.stored).type.dtype, Shape{}});
    VisitDType(value.dtype(), [&]<typename T>() {
      if constexpr (std::is_integral_v<T>)
        value.Values<T>()[0] = static_cast<T>(source.by.zero_point);
    });
    node.inputs[2] = graph_.AddConstant(names_.Fresh(node.name + "/zero_point"), std::move(value));
    return true;
  }

  bool SinkBelow(const Node& node) {
    const size_t count = MovedInputCount(node);
    if (count == 0 || !node.tail.empty() || node.inputs.size() < count) return false;
    if (node.kind != OpKind::kSplit && node.outputs.size() != 1) return false;
    const auto source = CommonSource(node, count);
    if (!source) return false;
    Node moved = node;
    for (size_t i = 0; i < count; ++i) moved.inputs[i] = SourceOf(node.inputs[i])->stored;
    if (node.kind == OpKind::kPad && !SetPadValue(*source, moved)) return false;
    const auto types = InferNodeTypes(graph_, moved);
    if (!types.ok()) return false;
    if (GivesPositions(node)) {
      Append(std::move(moved));
      return true;
    }
    for (size_t i = 0; i < moved.outputs.size(); ++i) {
      if (moved.outputs[i] == ValueId::kNone) continue;
      const std::string name = names_.Fresh(graph_.at(node.outputs[i]).name + "/stored");
      moved.outputs[i] = graph_.AddValue(name, (*types)[i]);
    }
    const std::vector<ValueId> stored = moved.outputs;
    Append(std::move(moved));
    for (size_t i = 0; i < stored.size(); ++i) {
      if (stored[i] == ValueId::kNone) continue;
      Append(Scaled(OpKind::kDequantizeLinear, names_.Fresh(node.name + "/dequantize"), stored[i],
                    source->scale, source->zero_point, node.outputs[i]));
    }
    return true;
  }

  static Node Scaled(OpKind kind, std::string name, ValueId value, ValueId scale,
                     ValueId zero_point, ValueId result) {
    Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.opset = kRewriteOpset;
    node.inputs = {value, scale};
    if (zero_point != ValueId::kNone) node.inputs.push_back(zero_point);
    node.outputs = {result};
    return node;
  }

  // The movement that alone gives the node at `position`, a QuantizeLinear, its value; -1 where
  // there is none that is worth it.
  int MovementAbove(size_t position) const {
    const Node& quantize = graph_.nodes[position];
    if (quantize.kind != OpKind::kQuantizeLinear) return -1;
    const QuantizedGraph quantized(graph_);
    if (!quantized.QuantizerOf(quantize)) return -1;
    const ValueId value = quantize.inputs[0];
    const int at = quantized.MakerPosition(value);
    if (at < 0 || quantized.OnlyReader(value) != static_cast<int>(position)) return -1;
    const Node& movement = graph_.nodes[static_cast<size_t>(at)];
    const size_t count = MovedInputCount(movement);
    if (count == 0 || movement.kind == OpKind::kPad || GivesPositions(movement)) return -1;
    if (movement.outputs.size() != 1 || !movement.tail.empty()) return -1;
    int64_t elements = 0;
    for (size_t i = 0; i < count; ++i) {
      const Value& input = graph_.at(movement.inputs[i]);
      if (input.constant != nullptr) return -1;
      elements += input.type.shape.ElementCount();
    }
    // What is dropped need not be quantized.
    constexpr int64_t kMostDropped = 4;
    return elements > kMostDropped * graph_.at(value).type.shape.ElementCount() ? -1 : at;
  }

  bool RaiseAbove(size_t position) {
    const int at = MovementAbove(position);
    if (at < 0) return false;
    const Node quantize = graph_.nodes[position];
    Node moved = graph_.nodes[static_cast<size_t>(at)];
    const TensorType result = graph_.at(quantize.outputs[0]).type;
    std::vector<Node> before;
    for (size_t i = 0; i < MovedInputCount(graph_.nodes[static_cast<size_t>(at)]); ++i) {
      const TensorType type{result.dtype, graph_.at(moved.inputs[i]).type.shape};
      Node part = quantize;
      if (i > 0) part.name = names_.Fresh(quantize.name + "/part");
      part.inputs[0] = moved.inputs[i];
      part.outputs[0] =
          graph_.AddValue(names_.Fresh(graph_.at(moved.inputs[i]).name + "/quantized"), type);
      moved.inputs[i] = part.outputs[0];
      before.push_back(std::move(part));
    }
    moved.outputs[0] = quantize.outputs[0];
    const auto types = InferNodeTypes(graph_, moved);
    if (!types.ok() || (*types)[0] != result) return false;
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<ptrdiff_t>(position));
    graph_.nodes[static_cast<size_t>(at)] = std::move(moved);
    graph_.nodes.insert(graph_.nodes.begin() + at, before.begin(), before.end());
    return true;
  }

  Graph& graph_;
  NameSource names_;
  std::vector<int> maker_;  // position among the nodes that stand again
};

}  // namespace

size_t MovedInputCount(const Node& node) {
  switch (node.kind) {
    case OpKind::kConcat:
      return node.inputs.size();
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kSplit:
    case OpKind::kPad:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kGather:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
    case OpKind::kMaxPool:
    case OpKind::kGlobalMaxPool:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kArgMax:
    case OpKind::kArgMin:
      return 1;
    case OpKind::kResize:
    case OpKind::kUpsample:
      return node.attributes.String("mode", "nearest") == "nearest" ? 1 : 0;
    default:
      return 0;
  }
}

absl::Status MoveQuantization(Graph& graph) {
  Mover mover(graph);
  mover.Sink();
  mover.Raise();
  mover.Cancel();
  RemoveDeadNodes(graph);
  return absl::OkStatus();
}

}  // namespace berth
