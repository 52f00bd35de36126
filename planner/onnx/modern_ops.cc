#include "planner/onnx/modern_ops.h"

#include <algorithm>

#include "kernels/fold/graph_edit.h"
#include "kernels/onnx_dtype.h"
#include "kernels/op_def.h"
#include "kernels/read_scale.h"
#include "kernels/rewrite.h"

namespace berth {
namespace {

constexpr int kAxesAreInputs = 18;  // of every Reduce op

bool IsReduction(OpKind kind) {
  switch (kind) {
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceSumSquare:
    case OpKind::kReduceLogSum:
    case OpKind::kReduceLogSumExp:
      return true;
    default:
      return false;
  }
}

class Modernizer {
 public:
  explicit Modernizer(Graph& graph) : graph_(graph), names_(graph), opset_(ModernOpset(graph)) {}

  absl::Status Run() {
    std::vector<Node> before = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : before) {
      if (absl::Status status = Rewrite(node); !status.ok()) {
        return Annotate(status, fmt::format("{} '{}'", OpName(node.kind), node.name));
      }
      node.opset = opset_;
      graph_.nodes.push_back(std::move(node));
      for (Node& follower : followers_) graph_.nodes.push_back(std::move(follower));
      followers_.clear();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Rewrite(Node& node) {
    if (node.layout != DataLayout::kNchw || !node.tail.empty() || HasReadScales(node.attributes)) {
      return Unimplemented("has no form in ONNX");
    }
    node.attributes.Erase("consumed_inputs");
    switch (node.kind) {
      case OpKind::kMatMul:
        return RewriteMatMul(node);
      case OpKind::kClip:
        RewriteClip(node);
        break;
      case OpKind::kPad:
        RewritePad(node);
        break;
      case OpKind::kSlice:
        if (node.opset < 10) ListsToInputs(node, {"starts", "ends", "axes"});
        break;
      case OpKind::kReshape:
        if (node.opset < 5) ListsToInputs(node, {"shape"});
        break;
      case OpKind::kUpsample:
      case OpKind::kResize:
        RewriteResize(node);
        break;
      case OpKind::kSoftmax:
      case OpKind::kLogSoftmax:
        // What was flattened before 13 works on the last axis by now.
        if (node.opset < 13) node.attributes.Set("axis", int64_t{-1});
        break;
      case OpKind::kTopK:
        if (node.opset < 10) RewriteTopK(node);
        break;
      case OpKind::kCast:
        node.attributes.Set("to", DTypeToOnnx(graph_.at(node.outputs[0]).type.dtype));
        break;
      case OpKind::kConcat:
        if (!node.attributes.Has("axis")) node.attributes.Set("axis", int64_t{1});
        break;
      case OpKind::kSum:
        if (node.inputs.size() == 2) node.kind = OpKind::kAdd;
        break;
      default:
        if (IsReduction(node.kind)) RewriteReduction(node);
        DropLegacyBroadcast(node);
        break;
    }
    return absl::OkStatus();
  }

  // Expansion has brought the operands into shape.
  static void DropLegacyBroadcast(Node& node) {
    if (node.opset >= 7 || !GetOpDef(node.kind).elementwise) return;
    node.attributes.Erase("broadcast");
    node.attributes.Erase("axis");
  }

  absl::Status RewriteMatMul(Node& node) {
    const bool trans_a = node.attributes.Int("transA", 0) != 0;
    const bool trans_b = node.attributes.Int("transB", 0) != 0;
    const bool biased = node.inputs.size() > 2 && node.inputs[2] != ValueId::kNone;
    node.inputs.resize(biased ? 3 : 2);
    if (!biased && !trans_a && !trans_b) {
      node.attributes = {};
      return absl::OkStatus();
    }
    if (Rank(node.inputs[0]) == 2 && Rank(node.inputs[1]) == 2) {
      node.kind = OpKind::kGemm;
      return absl::OkStatus();
    }
    if (trans_a || trans_b) return Unimplemented("swapped operands of more than two axes");
    Node add;
    add.kind = OpKind::kAdd;
    add.name = node.name + "/add_bias";
    add.opset = opset_;
    const Value result = graph_.at(node.outputs[0]);
    add.inputs = {graph_.AddValue(names_.Fresh(result.name + "/product"), result.type),
                  node.inputs[2]};
    add.outputs = node.outputs;
    node.outputs = {add.inputs[0]};
    node.inputs.resize(2);
    node.attributes = {};
    followers_.push_back(std::move(add));
    return absl::OkStatus();
  }

  void RewriteClip(Node& node) {
    if (node.opset >= 11) return;
    node.inputs.resize(3, ValueId::kNone);
    for (const auto& [name, input] : {std::pair("min", 1u), std::pair("max", 2u)}) {
      if (!node.attributes.Has(name)) continue;
      node.inputs[input] = Scalar(node, name, node.attributes.Float(name, 0));
      node.attributes.Erase(name);
    }
  }

  void RewritePad(Node& node) {
    if (node.opset >= 11) return;
    const float value = node.attributes.Float("value", 0);
    ListsToInputs(node, {node.opset < 2 ? "paddings" : "pads"});
    node.attributes.Erase("value");
    node.inputs.push_back(Scalar(node, "value", value));
  }

  void RewriteTopK(Node& node) {
    const int64_t k = node.attributes.Int("k", 1);
    node.attributes.Erase("k");
    node.inputs.push_back(AddInt64s(graph_, Fresh(node, "k"), {k}));
  }

  // Upsample and Resize 10 know one way of mapping coordinates.
  void RewriteResize(Node& node) {
    if (node.kind == OpKind::kResize && node.opset >= 11) return;
    const Shape& from = graph_.at(node.inputs[0]).type.shape;
    const Shape& to = graph_.at(node.outputs[0]).type.shape;
    const std::string mode = node.attributes.String("mode", "nearest");
    bool shrinks = false;
    for (int axis = 0; axis < from.rank(); ++axis) shrinks |= to[axis] < from[axis];
    ValueId scales = node.inputs.size() > 1 ? node.inputs[1] : ValueId::kNone;
    if (scales == ValueId::kNone) scales = Floats(Fresh(node, "scales"), ScalesOf(node));
    node.kind = OpKind::kResize;
    node.inputs = {node.inputs[0], ValueId::kNone, scales};
    node.attributes = {};
    node.attributes.Set("mode", mode == "bilinear" ? std::string("linear") : mode);
    node.attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
    node.attributes.Set("nearest_mode", std::string(shrinks ? "ceil" : "floor"));
  }

  static std::vector<float> ScalesOf(const Node& node) {
    if (node.attributes.Has("scales")) return node.attributes.Floats("scales");
    return {1, 1, node.attributes.Float("height_scale", 1),
            node.attributes.Float("width_scale", 1)};
  }

  void RewriteReduction(Node& node) {
    const int since = node.kind == OpKind::kReduceSum ? 13 : kAxesAreInputs;
    if (opset_ < since || !node.attributes.Has("axes")) return;
    ListsToInputs(node, {"axes"});
  }

  // Attributes as further inputs, in this order; an absent one only at the end.
  void ListsToInputs(Node& node, const std::vector<std::string>& names) {
    node.inputs.resize(1);
    for (const std::string& name : names) {
      if (!node.attributes.Has(name)) break;
      node.inputs.push_back(AddInt64s(graph_, Fresh(node, name), node.attributes.Ints(name)));
      node.attributes.Erase(name);
    }
  }

  int Rank(ValueId id) const { return graph_.at(id).type.shape.rank(); }
  std::string Fresh(const Node& node, std::string_view what) {
    return names_.Fresh(fmt::format("{}/{}", node.name, what));
  }
  // Of the node's own dtype.
  ValueId Scalar(const Node& node, std::string_view what, float value) {
    Tensor tensor(TensorType{graph_.at(node.inputs[0]).type.dtype, Shape{}});
    VisitDType(tensor.dtype(),
               [&]<typename T>() { tensor.Values<T>()[0] = static_cast<T>(value); });
    return graph_.AddConstant(Fresh(node, what), std::move(tensor));
  }
  ValueId Floats(std::string name, const std::vector<float>& values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    return graph_.AddConstant(std::move(name),
                              Tensor::FromValues<float>(DType::kFloat32, shape, values));
  }

  Graph& graph_;
  NameSource names_;
  const int opset_;
  std::vector<Node> followers_;  // of the node at hand
};

}  // namespace

int ModernOpset(const Graph& graph) {
  int opset = kRewriteOpset;
  for (const Node& node : graph.nodes) opset = std::max(opset, node.opset);
  return opset;
}

absl::Status ModernizeOps(Graph& graph) { return Modernizer(graph).Run(); }

}  // namespace berth
