#include "planner/passes/quantized_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"
#include "kernels/ops/integer_product.h"
#include "kernels/ops/quantized_product.h"
#include "kernels/rewrite.h"
#include "planner/passes/quantized_graph.h"

namespace berth {
namespace {

// Weights: stored integers with one zero point and a scale for each output channel or one for all.
struct Weights {
  ValueId stored = ValueId::kNone;
  std::vector<float> scales;
  int32_t zero_point = 0;
};

// What the product adds before it is scaled: whole steps, or a float value to be added behind.
struct Bias {
  std::vector<int32_t> steps;
  ValueId rest = ValueId::kNone;
};

// What stands behind the product up to its quantization.
struct Ending {
  int quantize = -1, activation = -1;  // positions; -1: none
  QuantizedProduct product;            // dtype, zero point and bounds of the result
  float scale = 1;                     // of the result
};

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

bool IsProduct(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kMatMul ||
         kind == OpKind::kGemm;
}

class ProductFolder {
 public:
  explicit ProductFolder(Graph& graph) : graph_(graph), names_(graph), quantized_(graph) {}

  void Run() {
    removed_.assign(graph_.nodes.size(), false);
    const size_t count = graph_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      if (IsProduct(graph_.nodes[i].kind)) Fold(i);
    }
    Rebuild();
  }

 private:
  const Tensor* ConstantOf(ValueId id) const {
    return id == ValueId::kNone ? nullptr : graph_.at(id).constant.get();
  }

  // The axis of the weights along which output channels stand.
  int64_t ChannelAxisOfWeights(const Node& node, int rank) const {
    switch (node.kind) {
      case OpKind::kConv:
        return 0;
      case OpKind::kConvTranspose:
        return 1;
      case OpKind::kGemm:
        return node.attributes.Int("transB", 0) != 0 ? 0 : 1;
      default:
        return rank - 1;
    }
  }

  std::optional<Weights> WeightsOf(const Node& node) const {
    const Node* maker = quantized_.MakerOf(node.inputs[1]);
    if (maker == nullptr || maker->kind != OpKind::kDequantizeLinear) return std::nullopt;
    const NodeCall call(graph_, *maker);
    const auto form = ResolveQuantization(call.call());
    const Tensor* scales = call.call().Constant(1);
    const auto zero_point = call.call().HasInput(2) ? UniformInteger(call.call().Constant(2)) : 0;
    if (!form.ok() || scales == nullptr || !zero_point) return std::nullopt;
    if (!IsQuantizedDType(call.call().input(0).dtype)) return std::nullopt;
    if (call.call().output().dtype != DType::kFloat32) return std::nullopt;
    const int rank = call.call().input(0).shape.rank();
    const bool along_channels =
        form->kind == QuantizationForm::Kind::kAxis &&
        form->axis == ChannelAxisOfWeights(node, rank) &&
        (node.kind != OpKind::kConvTranspose || node.attributes.Int("group", 1) == 1);
    if (form->kind != QuantizationForm::Kind::kTensor && !along_channels) return std::nullopt;
    auto values = ToFloatValues(scales->view());
    const auto is_scale = [](float s) { return std::isnormal(s) && s > 0; };
    if (!values.ok() || !std::all_of(values->begin(), values->end(), is_scale)) {
      return std::nullopt;
    }
    return Weights{maker->inputs[0], *std::move(values), static_cast<int32_t>(*zero_point)};
  }

  // |sum| stays below 2^31 whatever the input is.
  bool SumsFit(const Node& node, const DequantizedValue& x, const Weights& w,
               const Bias& bias) const {
    const auto reach = [](DType dtype, int32_t zero_point) {
      const IntegerRange range = RangeOfDType(dtype);
      return static_cast<double>(std::max(range.most - zero_point, zero_point - range.least));
    };
    const TensorType& weights = graph_.at(w.stored).type;
    const double most_x = reach(graph_.at(x.stored).type.dtype, x.by.zero_point);
    const double most_w = reach(weights.dtype, w.zero_point);
    const double terms = TermsOf(node, weights.shape);
    double most_bias = 0;
    for (const int32_t b : bias.steps)
      most_bias = std::max(most_bias, std::abs(static_cast<double>(b)));
    if (terms * most_x * most_w + most_bias < 2147483647.0) return true;
    const Tensor* known = ConstantOf(w.stored);
    if (known == nullptr) return false;
    return LargestColumnSum(node, *known, w.zero_point) * most_x + most_bias < 2147483647.0;
  }

  static double TermsOf(const Node& node, const Shape& weights) {
    const double all = static_cast<double>(weights.ElementCount());
    const bool trans_b = node.attributes.Int("transB", 0) != 0;
    switch (node.kind) {
      case OpKind::kConv:
        return all / static_cast<double>(weights[0]);
      case OpKind::kConvTranspose:
        return all / static_cast<double>(weights[1]);
      default:
        return static_cast<double>(
            weights.rank() < 2 ? weights[0] : weights[weights.rank() - (trans_b ? 1 : 2)]);
    }
  }

  // Of |w - zero point| over what one output channel sums.
  double LargestColumnSum(const Node& node, const Tensor& weights, int32_t zero_point) const {
    const auto values = ToInt64Values(weights.view());
    const Shape& shape = weights.shape();
    if (!values.ok() || shape.rank() < 2) return std::numeric_limits<double>::infinity();
    const auto axis = static_cast<int>(ChannelAxisOfWeights(node, shape.rank()));
    const int64_t channels = shape[axis], inner = shape.Product(axis + 1, shape.rank());
    std::vector<double> sums(static_cast<size_t>(channels));
    for (size_t i = 0; i < values->size(); ++i) {
      const auto channel = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
      sums[channel] += std::abs(static_cast<double>((*values)[i] - zero_point));
    }
    return *std::max_element(sums.begin(), sums.end());
  }

  int64_t ChannelCount(const Node& node) const {
    const Shape& out = graph_.at(node.outputs[0]).type.shape;
    if (node.kind == OpKind::kConv || node.kind == OpKind::kConvTranspose) return out[1];
    return graph_.at(node.inputs[1]).type.shape.rank() < 2 ? 1 : out.back();
  }

  // The constant that a bias is, as floats over the channels; a value dequantized from int32
  // counts.
  std::optional<std::vector<double>> BiasValues(ValueId id, int64_t channels) const {
    const Tensor* known = ConstantOf(id);
    std::vector<double> values;
    if (known != nullptr) {
      const auto floats = ToFloatValues(known->view());
      if (!floats.ok()) return std::nullopt;
      values.assign(floats->begin(), floats->end());
    } else {
      const Node* maker = quantized_.MakerOf(id);
      if (maker == nullptr || maker->kind != OpKind::kDequantizeLinear) return std::nullopt;
      const Tensor* stored = ConstantOf(maker->inputs[0]);
      const Tensor* scales = ConstantOf(maker->inputs[1]);
      if (stored == nullptr || scales == nullptr) return std::nullopt;
      const auto zero_point = maker->inputs.size() < 3
                                  ? std::optional<int64_t>(0)
                                  : UniformInteger(ConstantOf(maker->inputs[2]));
      const auto integers = ToInt64Values(stored->view());
      const auto factors = ToFloatValues(scales->view());
      if (!integers.ok() || !factors.ok() || zero_point != 0) return std::nullopt;
      if (factors->size() != 1 && factors->size() != integers->size()) return std::nullopt;
      for (size_t i = 0; i < integers->size(); ++i) {
        values.push_back(static_cast<double>((*integers)[i]) *
                         double{(*factors)[factors->size() == 1 ? 0 : i]});
      }
    }
    if (values.size() == 1) values.resize(static_cast<size_t>(channels), values[0]);
    if (static_cast<int64_t>(values.size()) != channels) return std::nullopt;
    return values;
  }

  // Nothing where the product cannot be folded with this bias.
  std::optional<Bias> BiasOf(const Node& node, const DequantizedValue& x, const Weights& w) const {
    Bias bias;
    if (node.inputs.size() < 3 || node.inputs[2] == ValueId::kNone) return bias;
    const int64_t channels = ChannelCount(node);
    const Shape& shape = graph_.at(node.inputs[2]).type.shape;
    const bool over_channels =
        shape.ElementCount() == 1 || (shape.rank() >= 1 && shape.back() == shape.ElementCount());
    const auto values =
        over_channels ? BiasValues(node.inputs[2], channels) : std::optional<std::vector<double>>();
    bias.rest = node.inputs[2];
    if (!values) return bias;
    std::vector<int32_t> steps;
    for (size_t c = 0; c < values->size(); ++c) {
      const double step = double{x.by.scale} * double{w.scales[w.scales.size() == 1 ? 0 : c]};
      const double count = (*values)[c] / step;
      const double rounded = std::nearbyint(count);
      // Products and quotients of float32 numbers, rounded a few times.
      const double slack = 1e-6 * std::max(1.0, std::abs(count));
      if (!(std::abs(count - rounded) <= slack) || std::abs(rounded) > 2147483647.0) return bias;
      steps.push_back(static_cast<int32_t>(rounded));
    }
    bias.steps = std::move(steps);
    bias.rest = ValueId::kNone;
    return bias;
  }

  // The bounds of Relu or Clip.
  struct Bounds {
    float least = -std::numeric_limits<float>::infinity();
    float most = std::numeric_limits<float>::infinity();
  };
  std::optional<Bounds> BoundsOf(const Node& node) const {
    if (!node.tail.empty()) return std::nullopt;
    Bounds bounds;
    if (node.kind == OpKind::kRelu) {
      bounds.least = 0;
      return bounds;
    }
    if (node.kind != OpKind::kClip) return std::nullopt;
    bounds.least = node.attributes.Float("min", bounds.least);
    bounds.most = node.attributes.Float("max", bounds.most);
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::kNone) continue;
      const auto bound = SingleFloat(ConstantOf(node.inputs[i]));
      if (!bound) return std::nullopt;
      (i == 1 ? bounds.least : bounds.most) = *bound;
    }
    if (!(bounds.least <= bounds.most)) return std::nullopt;
    return bounds;
  }

  static int32_t Quantized(float value, const TensorQuantization& by, const IntegerRange& range) {
    const double steps = std::nearbyint(double{value / by.scale}) + by.zero_point;
    return static_cast<int32_t>(std::clamp<double>(steps, range.least, range.most));
  }

  Ending EndingOf(ValueId value) const {
    Ending ending;
    ending.product.y_dtype = DType::kFloat32;
    int reader = quantized_.OnlyReader(value);
    if (reader < 0) return ending;
    Bounds bounds;
    int activation = -1;
    if (const auto found = BoundsOf(graph_.nodes[static_cast<size_t>(reader)])) {
      bounds = *found;
      activation = reader;
      if (graph_.nodes[static_cast<size_t>(reader)].inputs[0] != value) return ending;
      reader = quantized_.OnlyReader(graph_.nodes[static_cast<size_t>(reader)].outputs[0]);
      if (reader < 0) return ending;
    }
    const Node& quantize = graph_.nodes[static_cast<size_t>(reader)];
    const auto by = quantized_.QuantizerOf(quantize);
    if (!by) return ending;
    const DType dtype = graph_.at(quantize.outputs[0]).type.dtype;
    const IntegerRange range = RangeOfDType(dtype);
    ending.quantize = reader;
    ending.activation = activation;
    ending.scale = by->scale;
    ending.product = NarrowProduct(dtype, by->zero_point);
    // Rounding keeps the order of values: bounds may be taken before or after it.
    ending.product.y_least = Quantized(bounds.least, *by, range);
    ending.product.y_most = Quantized(bounds.most, *by, range);
    return ending;
  }

  // alpha and beta are 1, so that Gemm is a MatMul with a bias.
  static bool IsPlain(const Node& node) {
    return node.kind != OpKind::kGemm ||
           (node.attributes.Float("alpha", 1) == 1.0f && node.attributes.Float("beta", 1) == 1.0f);
  }

  void Fold(size_t position) {
    const Node& node = graph_.nodes[position];
    if (IsQuantizedProduct(node) || !node.tail.empty() || !IsPlain(node)) return;
    if (node.layout != DataLayout::kNchw) return;  // before the layout pass
    if (graph_.at(node.outputs[0]).type.dtype != DType::kFloat32) return;
    const auto x = quantized_.Dequantized(node.inputs[0]);
    const auto w = WeightsOf(node);
    if (!x || !w) return;
    // Weights that are no constant have one scale, or the result's channels do not follow.
    if (node.kind != OpKind::kMatMul && ConstantOf(w->stored) == nullptr) return;
    const bool bytes = IsByte(graph_.at(w->stored).type.dtype);
    if (!bytes) return;  // 16 by 16 bits overflow the sums
    const auto bias = BiasOf(node, *x, *w);
    if (!bias || !SumsFit(node, *x, *w, *bias)) return;
    Ending ending;
    ending.product.y_dtype = DType::kFloat32;
    if (bias->rest == ValueId::kNone) ending = EndingOf(node.outputs[0]);
    Replace(position, *x, *w, *bias, ending);
  }

  void Replace(size_t position, const DequantizedValue& x, const Weights& w, const Bias& bias,
               Ending ending) {
    Node product = graph_.nodes[position];
    if (product.kind == OpKind::kGemm) {
      product.kind = OpKind::kMatMul;
      product.attributes.Erase("alpha");
      product.attributes.Erase("beta");
      product.opset = kRewriteOpset;
    }
    std::vector<float> factors;
    const bool wide = ending.product.y_dtype == DType::kInt16;
    const auto bits = static_cast<int>(wide ? product.attributes.Int(kFactorBits, 0) : 0);
    product.attributes.Erase(kFactorBits);
    for (const float scale : w.scales) {
      factors.push_back(bits > 0 ? FixedPointFactor(x.by.scale, scale, ending.scale, bits)
                                 : StageFactor(x.by.scale, scale, ending.scale));
    }
    ChannelStage stage = PackChannels(bias.steps, factors, ChannelCount(graph_.nodes[position]));
    ending.product.factor = stage.factor;
    ending.product.x_zero_point = x.by.zero_point;
    ending.product.w_zero_point = w.zero_point;
    product.inputs = {x.stored, w.stored};
    if (const auto shifted = SignedBytes(ConstantOf(w.stored))) {  // as the host multiplies
      product.inputs[1] = graph_.AddConstant(names_.Fresh(product.name + "/weights"), *shifted);
      ending.product.w_zero_point -= 128;
    }
    SetQuantizedProduct(product.attributes, ending.product);
    if (stage.bias.dtype() != DType::kUndefined) {
      product.inputs.push_back(
          graph_.AddConstant(names_.Fresh(product.name + "/stage"), std::move(stage.bias)));
    }
    const ValueId result = product.outputs[0];
    if (ending.quantize >= 0) {
      product.outputs[0] = graph_.nodes[static_cast<size_t>(ending.quantize)].outputs[0];
      removed_[static_cast<size_t>(ending.quantize)] = true;
      if (ending.activation >= 0) removed_[static_cast<size_t>(ending.activation)] = true;
    } else if (bias.rest != ValueId::kNone) {
      product.outputs[0] =
          graph_.AddValue(names_.Fresh(product.name + "/product"), graph_.at(result).type);
      AddRest(position, product, bias.rest, result);
    }
    graph_.nodes[position] = std::move(product);
  }

  // product + bias, where the bias of a convolution stands over axis 1.
  void AddRest(size_t position, const Node& product, ValueId bias, ValueId result) {
    std::vector<Node>& behind = behind_[position];
    const TensorType type = graph_.at(bias).type;
    const int rank = graph_.at(result).type.shape.rank();
    const bool is_conv = product.kind != OpKind::kMatMul;
    if (is_conv && type.shape.ElementCount() > 1) {
      const Shape shape(AlongAxisShape(rank, 1, type.shape.ElementCount()));
      const ValueId placed =
          graph_.AddValue(names_.Fresh(product.name + "/bias"), TensorType{type.dtype, shape});
      behind.push_back(
          MakeReshape(graph_, names_.Fresh(product.name + "/place_bias"), bias, placed));
      bias = placed;
    }
    Node add;
    add.kind = OpKind::kAdd;
    add.name = names_.Fresh(product.name + "/add_bias");
    add.opset = kRewriteOpset;
    add.inputs = {product.outputs[0], bias};
    add.outputs = {result};
    behind.push_back(std::move(add));
  }

  void Rebuild() {
    std::vector<Node> nodes;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (removed_[i]) continue;
      nodes.push_back(std::move(graph_.nodes[i]));
      const auto found = behind_.find(i);
      if (found == behind_.end()) continue;
      for (Node& node : found->second) nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    RemoveDeadNodes(graph_);
  }

  Graph& graph_;
  NameSource names_;
  const QuantizedGraph quantized_;  // of the graph as it was
  std::vector<bool> removed_;
  std::map<size_t, std::vector<Node>> behind_;  // new nodes by the position that they follow
};

}  // namespace

absl::Status FoldQuantizedProducts(Graph& graph) {
  ProductFolder(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
