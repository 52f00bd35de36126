#include "planner/quantize/insert.h"

#include <algorithm>
#include <map>
#include <type_traits>

#include "kernels/fold/graph_edit.h"

namespace berth {
namespace {

class Inserter {
 public:
  Inserter(const Graph& graph, const Selection& selection,
           const std::vector<TensorQuantization>& scales, DType dtype)
      : before_(graph), selection_(selection), scales_(scales), dtype_(dtype), names_(graph) {
    result_.graph = graph;
    result_.graph.nodes.clear();
    opset_ = graph.nodes.empty() ? 0 : graph.nodes[0].opset;
  }

  absl::StatusOr<QdqGraph> Run() {
    for (const ValueId id : before_.inputs) Store(id);
    for (size_t n = 0; n < before_.nodes.size(); ++n) {
      Node node = before_.nodes[n];
      if (selection_.roles[n] == QuantizeRole::kProduct) StoreWeights(before_.nodes[n], node);
      for (ValueId& id : node.inputs) {
        if (id != ValueId::kNone) id = ReadForm(id);
      }
      const std::vector<ValueId> outputs = node.outputs;
      result_.graph.nodes.push_back(std::move(node));
      for (const ValueId id : outputs) {
        if (id != ValueId::kNone) Store(id);
      }
    }
    ReadOutputs();
    std::sort(result_.stored.begin(), result_.stored.end(),
              [](const StoredValue& a, const StoredValue& b) { return a.value < b.value; });
    if (absl::Status status = VerifyGraph(result_.graph); !status.ok()) {
      return Internal("the quantized graph does not verify: {}", ToStd(status.message()));
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }
  const TensorQuantization& ScaleOfValue(ValueId id) const {
    return scales_[static_cast<size_t>(selection_.group[Index(id)])];
  }

  // What readers of a value of the float graph read now.
  ValueId ReadForm(ValueId id) {
    if (const auto found = read_.find(id); found != read_.end()) return found->second;
    if (Index(id) >= before_.values.size()) return id;  // made here
    const Value& value = before_.at(id);
    if (value.constant == nullptr || !selection_.IsStored(id)) return id;
    const TensorQuantization& by = ScaleOfValue(id);
    const ValueId stored = graph().AddConstant(names_.Fresh(value.name + "/quantized"),
                                               QuantizeTensor(*value.constant, by, dtype_));
    return read_[id] = Dequantize(value, stored, Scale(by), ZeroPoint(by.zero_point, dtype_));
  }

  void Store(ValueId id) {
    if (!selection_.IsStored(id)) return;
    const Value value = before_.at(id);
    const TensorQuantization& by = ScaleOfValue(id);
    const ValueId scale = Scale(by), zero_point = ZeroPoint(by.zero_point, dtype_);
    const std::string name = names_.Fresh(value.name + "/quantized");
    const ValueId stored = graph().AddValue(name, TensorType{dtype_, value.type.shape});
    Append(OpKind::kQuantizeLinear, name, {id, scale, zero_point}, stored);
    read_[id] = Dequantize(value, stored, scale, zero_point);
    result_.stored.push_back({id, stored, by});
  }

  ValueId Dequantize(const Value& value, ValueId stored, ValueId scale, ValueId zero_point,
                     int64_t axis = -1) {
    const std::string name = names_.Fresh(value.name + "/dequantized");
    const ValueId result = graph().AddValue(name, value.type);
    std::vector<ValueId> inputs = {stored, scale};
    if (zero_point != ValueId::kNone) inputs.push_back(zero_point);
    Append(OpKind::kDequantizeLinear, name, std::move(inputs), result);
    if (axis >= 0) graph().nodes.back().attributes.Set("axis", axis);
    return result;
  }

  void Append(OpKind kind, std::string name, std::vector<ValueId> inputs, ValueId output) {
    Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.opset = opset_;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph().nodes.push_back(std::move(node));
  }

  // One constant for each scale and zero point, however many tensors have it.
  ValueId Scale(const TensorQuantization& by) {
    ValueId& id = scale_ids_.try_emplace(by.scale, ValueId::kNone).first->second;
    if (id == ValueId::kNone) id = Floats(names_.Fresh("scale"), Shape{}, {by.scale});
    return id;
  }
  ValueId ZeroPoint(int32_t value, DType dtype) {
    ValueId& id = zero_ids_.try_emplace({dtype, value}, ValueId::kNone).first->second;
    if (id == ValueId::kNone) {
      Tensor tensor(TensorType{dtype, Shape{}});
      VisitDType(dtype, [&]<typename T>() {
        if constexpr (std::is_integral_v<T>) tensor.Values<T>()[0] = static_cast<T>(value);
      });
      id = graph().AddConstant(names_.Fresh("zero_point"), std::move(tensor));
    }
    return id;
  }
  ValueId Floats(std::string name, Shape shape, const std::vector<float>& values) {
    return graph().AddConstant(
        std::move(name), Tensor::FromValues<float>(DType::kFloat32, std::move(shape), values));
  }

  // The axis of the weights along which output channels stand; -1: one scale for all.
  static int ChannelAxis(const Node& node, const Shape& weights) {
    switch (node.kind) {
      case OpKind::kConv:
        return 0;
      case OpKind::kConvTranspose:
        return node.attributes.Int("group", 1) == 1 ? 1 : -1;
      case OpKind::kGemm:
        return node.attributes.Int("transB", 0) != 0 ? 0 : 1;
      default:
        return weights.rank() == 2 ? 1 : -1;
    }
  }

  absl::Span<const float> BiasOf(const Node& node) const {
    if (node.inputs.size() < 3 || node.inputs[2] == ValueId::kNone) return {};
    const Value& bias = before_.at(node.inputs[2]);
    if (bias.constant == nullptr || bias.type.shape.rank() != 1) return {};
    return bias.constant->Values<float>();
  }

  // `node` is a copy of `product` whose weights and bias become dequantized integers.
  void StoreWeights(const Node& product, Node& node) {
    const Value& weights = before_.at(product.inputs[1]);
    const ValueId x = product.inputs[0];
    if (weights.constant == nullptr || !selection_.IsStored(x)) return;
    const float x_scale = ScaleOfValue(x).scale;
    const int axis = ChannelAxis(product, weights.type.shape);
    const absl::Span<const float> bias = BiasOf(product);
    const QuantizedWeights quantized = QuantizeWeights(*weights.constant, axis, bias, x_scale);
    result_.weights.push_back({product.name, quantized.scales.size(), quantized.sqnr_db});
    node.inputs[1] = WeightsConstant(weights, quantized, axis);
    if (bias.empty()) return;
    const Value& value = before_.at(product.inputs[2]);
    const ValueId stored = graph().AddConstant(names_.Fresh(value.name + "/quantized"),
                                               QuantizeBias(bias, quantized.scales, x_scale));
    std::vector<float> steps;
    for (const float scale : quantized.scales) steps.push_back(x_scale * scale);
    const ValueId scale = ScaleVector(value.name + "/scale", steps, axis);
    node.inputs[2] = Dequantize(value, stored, scale, ValueId::kNone, axis >= 0 ? 0 : -1);
  }

  ValueId ScaleVector(const std::string& name, const std::vector<float>& scales, int axis) {
    const Shape shape = axis >= 0 ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
    return Floats(names_.Fresh(name), shape, scales);
  }

  ValueId WeightsConstant(const Value& weights, const QuantizedWeights& quantized, int axis) {
    const ValueId stored =
        graph().AddConstant(names_.Fresh(weights.name + "/quantized"), quantized.stored);
    const ValueId scale = ScaleVector(weights.name + "/scale", quantized.scales, axis);
    ValueId zero_point = ZeroPoint(0, DType::kInt8);
    if (axis >= 0) {
      const TensorType type{DType::kInt8, Shape{static_cast<int64_t>(quantized.scales.size())}};
      zero_point = graph().AddConstant(names_.Fresh(weights.name + "/zero_point"), Tensor(type));
    }
    return Dequantize(weights, stored, scale, zero_point, axis);
  }

  // Outputs that are stored as well give what the rest of the model reads.
  void ReadOutputs() {
    for (ValueId& output : graph().outputs) {
      const auto found = read_.find(output);
      if (found == read_.end()) continue;
      const std::string name = graph().at(output).name;
      graph().at(output).name = names_.Fresh(name + "/float");
      graph().at(found->second).name = name;
      output = found->second;
    }
  }

  const Graph& before_;
  const Selection& selection_;
  const std::vector<TensorQuantization>& scales_;
  const DType dtype_;
  int opset_ = 0;
  NameSource names_;
  QdqGraph result_;
  std::map<ValueId, ValueId> read_;  // what stands for a value that is stored
  std::map<float, ValueId> scale_ids_;
  std::map<std::pair<DType, int32_t>, ValueId> zero_ids_;
};

}  // namespace

absl::StatusOr<QdqGraph> InsertQdq(const Graph& graph, const Selection& selection,
                                   const std::vector<TensorQuantization>& scales, DType dtype) {
  return Inserter(graph, selection, scales, dtype).Run();
}

}  // namespace berth
