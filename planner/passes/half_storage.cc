#include "planner/passes/half_storage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "kernels/fold/graph_edit.h"
#include "kernels/onnx_dtype.h"
#include "kernels/op_def.h"
#include "kernels/rewrite.h"
#include "planner/passes/eliminate_identities.h"
#include "planner/passes/half_rules.h"

namespace berth {
namespace {

// How a value that was float32 stands after the op that makes it.
enum class Form : uint8_t {
  kInput,    // float32 in DRAM: an input of the graph, or a view of one
  kPassing,  // float32 in a tile: narrowed when it goes to DRAM, unless the next op takes it over
  kWide,     // float32 for its range or its digits
  kHalf,
};

struct Stored {
  Form form = Form::kInput;
  ValueId half = ValueId::kNone;  // at half size, once something asked for it
  bool has_wide = true;           // the value itself, in float32, is there
};

class HalfStorage {
 public:
  HalfStorage(Graph& graph, DType dtype)
      : graph_(graph), dtype_(dtype), names_(graph), readers_(ComputeUses(graph).readers) {
    stored_.resize(graph.values.size());
    for (const ValueId id : graph.outputs) outputs_.insert(id);
  }

  HalfSummary Run() {
    before_ = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (const Node& node : before_) {
      if (!ComputesInHalf(node) || !EmitHalf(node)) EmitWide(node);
    }
    RemoveDeadNodes(graph_);
    GiveNames();
    return std::move(summary_);
  }

 private:
  const Value& at(ValueId id) const { return graph_.at(id); }
  bool IsConstant(ValueId id) const { return at(id).constant != nullptr; }
  Stored& StoredAs(ValueId id) { return stored_[Index(id)]; }
  bool IsFloat32(ValueId id) const {
    return id != ValueId::kNone && at(id).type.dtype == DType::kFloat32;
  }

  // --- What an op computes in.

  bool ComputesInHalf(const Node& node) {
    const std::vector<size_t> data = DataOperands(graph_, node);
    if (data.empty() || node.kind == OpKind::kCast || IsFloat32Only(node.kind) ||
        IsQuantized(node) || !node.tail.empty()) {
      return false;
    }
    if (!ConstantsFit(node, data) || MakesWide(node)) return false;
    return IsMatrixProduct(node.kind) || OperandsVoteForHalf(node, data);
  }

  // By elements, so that a small wide operand does not hold a large one in float32.
  bool OperandsVoteForHalf(const Node& node, const std::vector<size_t>& data) {
    int64_t half = 0, passing = 0, wide = 0;
    bool reads_input = false;
    for (const size_t i : data) {
      const ValueId id = node.inputs[i];
      if (IsConstant(id)) continue;
      const int64_t elements = at(id).type.shape.ElementCount();
      const Form form = StoredAs(id).form;
      reads_input = reads_input || form == Form::kInput;
      (form == Form::kWide ? wide : form == Form::kHalf ? half : passing) += elements;
    }
    if (wide > 0 && wide >= half + passing) return false;
    if (half > 0 || wide > 0) return true;
    // What stands in float32 anyway is narrowed behind the op; a tile in float32 by more
    // elementwise ops, but not by way of DRAM.
    return !reads_input && !GetOpDef(node.kind).elementwise;
  }

  // Bounds that nothing at half size goes beyond, such as the largest float32.
  static bool IsOpenBound(const Node& node, size_t operand, const Tensor& constant) {
    if (constant.shape().ElementCount() != 1) return false;
    const float value = constant.Values<float>()[0];
    const bool is_upper = node.kind == OpKind::kMin || (node.kind == OpKind::kClip && operand == 2);
    const bool is_lower = node.kind == OpKind::kMax || (node.kind == OpKind::kClip && operand == 1);
    return (is_upper && value > 1) || (is_lower && value < -1);
  }

  // A small vector that is added is noise; a single small number is there for what is near 0.
  static bool MindsSmall(const Node& node, const Tensor& constant) {
    const bool adds = node.kind == OpKind::kAdd || node.kind == OpKind::kSub;
    return !adds || constant.shape().ElementCount() == 1;
  }

  // The constant that does not fit, or null.
  const Value* MisfitOf(const Node& node, const std::vector<size_t>& data) {
    for (const size_t i : data) {
      const Value& value = at(node.inputs[i]);
      if (value.constant == nullptr || IsOpenBound(node, i, *value.constant)) continue;
      const bool minds_small = MindsSmall(node, *value.constant);
      auto [found, is_new] = why_not_.try_emplace({node.inputs[i], minds_small});
      if (is_new) found->second = WhyNotHalf(*value.constant, dtype_, minds_small);
      if (!found->second.empty()) return &value;
    }
    return nullptr;
  }

  // Single small numbers, such as the epsilon of a normalization, are no news.
  bool ConstantsFit(const Node& node, const std::vector<size_t>& data) {
    const Value* misfit = MisfitOf(node, data);
    if (misfit == nullptr) return true;
    const Tensor& constant = *misfit->constant;
    if (constant.shape().ElementCount() > 1 || std::abs(constant.Values<float>()[0]) > 1) {
      Keep(node, fmt::format("'{}': {}", misfit->name, WhyNotHalf(constant, dtype_)));
    }
    return false;
  }

  void Keep(const Node& node, std::string reason) {
    summary_.kept.push_back(
        {fmt::format("{} '{}'", OpName(node.kind), node.name), std::move(reason)});
  }

  // Whatever its operands are.
  bool MakesWide(const Node& node) {
    if (node.kind == OpKind::kCast && HoldsLargeIntegers(at(node.inputs[0]).type.dtype)) {
      return true;
    }
    if (dtype_ == DType::kFloat16 && Widens(graph_, node)) return true;
    if (!GetOpDef(node.kind).elementwise) return false;
    const std::vector<int>& readers = readers_[Index(node.outputs[0])];
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return NeedsExactOperand(before_[static_cast<size_t>(reader)].kind);
    });
  }

  // --- Values in one form or the other.

  ValueId AppendCast(ValueId from, ValueId to, const std::string& name) {
    Node cast;
    cast.kind = OpKind::kCast;
    cast.name = names_.Fresh(name);
    cast.opset = kRewriteOpset;
    cast.attributes.Set("to", DTypeToOnnx(at(to).type.dtype));
    cast.inputs = {from};
    cast.outputs = {to};
    graph_.nodes.push_back(std::move(cast));
    return to;
  }

  ValueId NewValue(const std::string& name, TensorType type) {
    stored_.emplace_back();
    return graph_.AddValue(names_.Fresh(name), std::move(type));
  }
  ValueId NewConstant(const std::string& name, Tensor tensor) {
    stored_.emplace_back();
    return graph_.AddConstant(names_.Fresh(name), std::move(tensor));
  }

  ValueId NewHalf(ValueId id) {
    TensorType type = at(id).type;
    type.dtype = dtype_;
    return NewValue(HalfName(id), std::move(type));
  }
  std::string HalfName(ValueId id) const {
    return fmt::format("{}/{}", at(id).name, DTypeName(dtype_));
  }

  // A finite value stays finite.
  ValueId Bounded(ValueId id) {
    const float largest = RangeOfHalf(dtype_).largest;
    Node clip;
    clip.kind = OpKind::kClip;
    clip.name = names_.Fresh(at(id).name + "/bounds");
    clip.opset = kRewriteOpset;
    clip.inputs = {id};
    for (const float bound : {-largest, largest}) {
      clip.inputs.push_back(NewConstant(
          "bound", Tensor::FromValues<float>(DType::kFloat32, Shape{}, absl::MakeSpan(&bound, 1))));
    }
    const ValueId result = NewValue(at(id).name + "/bounded", at(id).type);
    clip.outputs = {result};
    graph_.nodes.push_back(std::move(clip));
    return result;
  }

  ValueId AsHalf(ValueId id) {
    if (StoredAs(id).half != ValueId::kNone) return StoredAs(id).half;
    if (IsConstant(id)) {
      const ValueId half = NewConstant(HalfName(id), RoundToHalf(*at(id).constant, dtype_));
      return StoredAs(id).half = half;
    }
    const bool bounds = StoredAs(id).form == Form::kWide && dtype_ == DType::kFloat16;
    const ValueId from = bounds ? Bounded(id) : id;
    const ValueId half = NewHalf(id);
    StoredAs(id).half = half;
    return AppendCast(from, half, at(id).name + "/narrow");
  }

  ValueId AsFloat32(ValueId id) {
    if (!IsFloat32(id) || IsConstant(id) || StoredAs(id).has_wide) return id;
    StoredAs(id).has_wide = true;
    return AppendCast(StoredAs(id).half, id, at(id).name + "/widen");
  }

  // --- Emission.

  bool EmitHalf(const Node& node) {
    Node half = node;
    const std::vector<size_t> data = DataOperands(graph_, node);
    for (ValueId& id : half.inputs) id = AsFloat32Unless(id, node, data);
    for (const size_t i : data) half.inputs[i] = AsHalf(node.inputs[i]);
    const auto types = InferNodeTypes(graph_, half);
    if (!types.ok()) {
      Keep(node, std::string(ToStd(types.status().message())));
      return false;
    }
    for (size_t i = 0; i < half.outputs.size(); ++i) {
      const ValueId id = half.outputs[i];
      if (IsFloat32(id) && (*types)[i].dtype == dtype_) half.outputs[i] = NewHalf(id);
    }
    if (NeedsExpansion(GetOpDef(half.kind), NodeCall(graph_, half).call())) return false;
    graph_.nodes.push_back(std::move(half));
    const std::vector<ValueId> made = graph_.nodes.back().outputs;
    for (size_t i = 0; i < made.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (made[i] == id) continue;
      StoredAs(id) = {Form::kHalf, made[i], false};
      if (outputs_.contains(id)) AsFloat32(id);
    }
    return true;
  }

  // Operands that the op does not compute with in its own dtype.
  ValueId AsFloat32Unless(ValueId id, const Node& node, const std::vector<size_t>& data) {
    const bool is_data =
        std::any_of(data.begin(), data.end(), [&](size_t i) { return node.inputs[i] == id; });
    return is_data ? id : AsFloat32(id);
  }

  void EmitWide(const Node& node) {
    Node wide = node;
    const bool takes_any = node.kind == OpKind::kCast;
    for (ValueId& id : wide.inputs) {
      const bool is_half = IsFloat32(id) && !IsConstant(id) && !StoredAs(id).has_wide;
      id = takes_any && is_half ? StoredAs(id).half : AsFloat32(id);
    }
    graph_.nodes.push_back(std::move(wide));
    for (const ValueId id : node.outputs) {
      if (!IsFloat32(id)) continue;
      StoredAs(id).form = FormOfWide(node);
      if (StoredAs(id).form == Form::kPassing && GoesToDram(id)) {
        AsHalf(id);
        StoredAs(id).form = Form::kHalf;
      }
    }
  }

  Form FormOfWide(const Node& node) {
    const std::vector<size_t> data = DataOperands(graph_, node);
    if (MakesWide(node) || (!IsQuantized(node) && MisfitOf(node, data) != nullptr)) {
      return Form::kWide;
    }
    bool all_inputs = !data.empty();
    for (const size_t i : data) {
      if (IsConstant(node.inputs[i])) continue;
      const Form form = StoredAs(node.inputs[i]).form;
      if (form == Form::kWide && KeepsWide(node.kind)) return Form::kWide;
      all_inputs = all_inputs && form == Form::kInput;
    }
    const bool is_view = GetOpDef(node.kind).view != ViewKind::kNone;
    return is_view && all_inputs ? Form::kInput : Form::kPassing;
  }

  // Several ops read it, and one of them at least could do with half the bytes.
  bool GoesToDram(ValueId id) const {
    const std::vector<int>& readers = readers_[Index(id)];
    return readers.size() > 1 && std::any_of(readers.begin(), readers.end(), [&](int reader) {
             return !IsQuantized(before_[static_cast<size_t>(reader)]);
           });
  }

  // What stands in DRAM at half size takes the name that the value had.
  void GiveNames() {
    std::vector<bool> used(graph_.values.size());
    for (const ValueId id : graph_.inputs) used[Index(id)] = true;
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : ReadValues(node)) used[Index(id)] = true;
      for (const ValueId id : node.outputs) {
        if (id != ValueId::kNone) used[Index(id)] = true;
      }
    }
    for (size_t i = 0; i < stored_.size(); ++i) {
      const ValueId half = stored_[i].half;
      if (half == ValueId::kNone || !used[Index(half)]) continue;
      ++(IsConstant(half) ? summary_.narrowed_constants : summary_.narrowed_values);
      if (IsInterface(static_cast<ValueId>(i))) continue;
      graph_.at(half).name = graph_.values[i].name;
      graph_.values[i].name = names_.Fresh(graph_.values[i].name + "/float32");
    }
  }

  bool IsInterface(ValueId id) const {
    return outputs_.contains(id) ||
           std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
  }

  Graph& graph_;
  const DType dtype_;
  NameSource names_;
  const std::vector<std::vector<int>> readers_;  // of the values and nodes that were there
  std::vector<Node> before_;
  std::set<ValueId> outputs_;
  std::vector<Stored> stored_;                               // by value
  std::map<std::pair<ValueId, bool>, std::string> why_not_;  // of constants, once looked at
  HalfSummary summary_;
};

}  // namespace

absl::StatusOr<HalfSummary> StoreAsHalf(Graph& graph, DType dtype) {
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return InvalidArgument("{} is no 16-bit float", DTypeName(dtype));
  }
  HalfSummary summary = HalfStorage(graph, dtype).Run();
  BERTH_RETURN_IF_ERROR(EliminateIdentities(graph));
  return summary;
}

}  // namespace berth
