#include "planner/passes/fold_affine.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/fold/graph_edit.h"
#include "kernels/ops/quantized_product.h"

namespace berth {
namespace {

// y = scale[c] * x + shift[c] on channel c.
struct PerChannel {
  std::vector<double> scale, shift;
};

bool ProducesChannels(const Graph& graph, const Node& node) {
  if (!node.tail.empty() || node.layout != DataLayout::kNchw) return false;
  if (IsQuantizedProduct(node)) return false;
  switch (node.kind) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
      return true;
    case OpKind::kMatMul:
      return graph.at(node.inputs[1]).type.shape.rank() >= 2;
    default:
      return false;
  }
}

int ChannelAxisOf(const Node& node, int rank) {
  return node.kind == OpKind::kMatMul ? rank - 1 : 1;
}

// The constant as one value per channel of `shape`, where it broadcasts to nothing but channels.
std::optional<std::vector<double>> ChannelValues(const Tensor& constant, const Shape& shape,
                                                 int channel_axis) {
  const int missing = shape.rank() - constant.shape().rank();
  if (missing < 0 || constant.dtype() != DType::kFloat32) return std::nullopt;
  for (int axis = 0; axis < constant.shape().rank(); ++axis) {
    if (constant.shape()[axis] != 1 && axis + missing != channel_axis) return std::nullopt;
  }
  const absl::Span<const float> values = constant.Values<float>();
  const auto channels = static_cast<size_t>(shape[channel_axis]);
  if (values.size() != 1 && values.size() != channels) return std::nullopt;
  std::vector<double> result(channels);
  for (size_t c = 0; c < channels; ++c) result[c] = values[values.size() == 1 ? 0 : c];
  return result;
}

// What `kind` does to the value at operand `data` with the constant at the other.
std::optional<PerChannel> AffineOf(OpKind kind, int data, const std::vector<double>& constant) {
  PerChannel affine{std::vector<double>(constant.size(), 1.0),
                    std::vector<double>(constant.size(), 0.0)};
  switch (kind) {
    case OpKind::kMul:
      affine.scale = constant;
      break;
    case OpKind::kAdd:
      affine.shift = constant;
      break;
    case OpKind::kSub:
      affine.shift = constant;
      for (double& value : data == 0 ? affine.shift : affine.scale) value = -value;
      break;
    case OpKind::kDiv:
      if (data != 0) return std::nullopt;
      for (size_t c = 0; c < constant.size(); ++c) affine.scale[c] = 1.0 / constant[c];
      break;
    default:
      return std::nullopt;
  }
  const auto finite = [](const std::vector<double>& list) {
    return std::all_of(list.begin(), list.end(), [](double v) { return std::isfinite(v); });
  };
  if (!finite(affine.scale) || !finite(affine.shift)) return std::nullopt;
  return affine;
}

// Element i of the weights belongs to channel Channel(i).
struct ChannelMap {
  int64_t inner = 1;       // elements of one channel that stand together
  int64_t channels = 1;    // channels that alternate
  int64_t group_span = 0;  // elements of one group; 0: one group
  int64_t Channel(int64_t i) const {
    const int64_t within = (i / inner) % channels;
    return group_span == 0 ? within : (i / group_span) * channels + within;
  }
};

ChannelMap MapOfWeights(const Node& node, const Shape& weights) {
  const int rank = weights.rank();
  ChannelMap map;
  if (node.kind == OpKind::kConv) {
    map.channels = weights[0];
    map.inner = weights.Product(1, rank);
  } else if (node.kind == OpKind::kConvTranspose) {
    map.channels = weights[1];
    map.inner = weights.Product(2, rank);
    map.group_span = weights.ElementCount() / std::max<int64_t>(1, node.attributes.Int("group", 1));
  } else {
    const bool transposed = node.attributes.Int("transB", 0) != 0;
    map.channels = weights[rank - (transposed ? 2 : 1)];
    map.inner = transposed ? weights[rank - 1] : 1;
  }
  return map;
}

Tensor ScaledWeights(const Node& node, const Tensor& weights, const std::vector<double>& scale) {
  Tensor scaled = weights;
  const ChannelMap map = MapOfWeights(node, weights.shape());
  absl::Span<float> values = scaled.Values<float>();
  const auto inner = static_cast<size_t>(map.inner);
  for (size_t begin = 0; begin < values.size(); begin += inner) {
    const double factor = scale[static_cast<size_t>(map.Channel(static_cast<int64_t>(begin)))];
    for (float& value : values.subspan(begin, inner)) value = static_cast<float>(value * factor);
  }
  return scaled;
}

class AffineFolder {
 public:
  explicit AffineFolder(Graph& graph)
      : graph_(graph),
        readers_(SingleReaders(graph)),
        names_(graph),
        producer_(ComputeUses(graph).producer) {}

  void Run() {
    std::vector<bool> removed(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) removed[i] = TryFold(static_cast<int>(i));
    RemoveNodes(graph_, removed);
  }

 private:
  bool TryFold(int position) {
    const Node& node = graph_.nodes[static_cast<size_t>(position)];
    if (node.inputs.size() != 2 || node.opset < 7 || !node.tail.empty()) return false;
    return TryFoldOperand(position, 0) || TryFoldOperand(position, 1);
  }

  bool TryFoldOperand(int position, int data) {
    const Node& node = graph_.nodes[static_cast<size_t>(position)];
    const ValueId in = node.inputs[static_cast<size_t>(data)];
    const ValueId other = node.inputs[static_cast<size_t>(1 - data)];
    if (in == ValueId::kNone || other == ValueId::kNone || !graph_.at(other).constant) return false;
    const int maker = producer_[Index(in)];
    if (maker < 0 || readers_[Index(in)] != position) return false;
    Node& producer = graph_.nodes[static_cast<size_t>(maker)];
    const TensorType& type = graph_.at(in).type;
    if (type.dtype != DType::kFloat32 || type != graph_.at(node.outputs[0]).type ||
        !ProducesChannels(graph_, producer)) {
      return false;
    }
    const auto constant = ChannelValues(*graph_.at(other).constant, type.shape,
                                        ChannelAxisOf(producer, type.shape.rank()));
    if (!constant) return false;
    const auto affine = AffineOf(node.kind, data, *constant);
    if (!affine || !Apply(*affine, producer)) return false;
    producer.outputs[0] = node.outputs[0];
    producer_[Index(node.outputs[0])] = maker;
    return true;
  }

  bool Apply(const PerChannel& affine, Node& producer) {
    const bool scales =
        std::any_of(affine.scale.begin(), affine.scale.end(), [](double s) { return s != 1.0; });
    const Tensor* weights = graph_.at(producer.inputs[1]).constant.get();
    if (scales && weights == nullptr) return false;
    const ValueId bias_id = producer.inputs.size() > 2 ? producer.inputs[2] : ValueId::kNone;
    std::vector<float> bias(affine.scale.size(), 0.0f);
    if (bias_id != ValueId::kNone) {
      const Tensor* known = graph_.at(bias_id).constant.get();
      if (known == nullptr) return false;
      bias.assign(known->Values<float>().begin(), known->Values<float>().end());
    }
    bool biased = bias_id != ValueId::kNone;
    for (size_t c = 0; c < bias.size(); ++c) {
      bias[c] = static_cast<float>(bias[c] * affine.scale[c] + affine.shift[c]);
      biased = biased || bias[c] != 0.0f;
    }
    if (scales) {
      const std::string name = names_.Fresh(graph_.at(producer.inputs[1]).name + "/scaled");
      producer.inputs[1] =
          graph_.AddConstant(name, ScaledWeights(producer, *weights, affine.scale));
    }
    if (biased) SetBias(bias, producer);
    return true;
  }

  void SetBias(const std::vector<float>& bias, Node& producer) {
    producer.inputs.resize(3, ValueId::kNone);
    producer.inputs[2] = graph_.AddConstant(
        names_.Fresh(producer.name + "/bias"),
        Tensor::FromValues<float>(DType::kFloat32, Shape{static_cast<int64_t>(bias.size())}, bias));
  }

  Graph& graph_;
  std::vector<int> readers_;  // of the values that were there at the start
  NameSource names_;
  std::vector<int> producer_;
};

}  // namespace

absl::Status FoldAffine(Graph& graph) {
  AffineFolder(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
