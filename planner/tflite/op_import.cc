#include "planner/tflite/op_import.h"

#include <cmath>
#include <limits>

#include "kernels/fold/known_values.h"
#include "kernels/onnx_dtype.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

const Permutation kToChannelsFirst = {0, 3, 1, 2};
const Permutation kToChannelsLast = {0, 2, 3, 1};

std::string TensorWhere(const tfl::SubGraph& subgraph, int tensor) {
  return fmt::format("tensor {} ('{}')", tensor, OneLine(TfliteTensorName(subgraph, tensor), 100));
}

struct StoredRange {
  int64_t least = 0, most = 0;
};
absl::StatusOr<StoredRange> RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return StoredRange{-128, 127};
    case DType::kUInt8:
      return StoredRange{0, 255};
    case DType::kInt16:
      return StoredRange{-32768, 32767};
    default:
      return Unimplemented("results quantized to {}", DTypeName(dtype));
  }
}

struct RealRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
// Nothing where the activation does more than to cut off.
std::optional<RealRange> CutsOff(tfl::Activation activation) {
  switch (activation) {
    case tfl::Activation::NONE:
      return RealRange{};
    case tfl::Activation::RELU:
      return RealRange{.least = 0};
    case tfl::Activation::RELU6:
      return RealRange{0, 6};
    case tfl::Activation::RELU_N1_TO_1:
      return RealRange{-1, 1};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string TfliteTensorName(const tfl::SubGraph& subgraph, int tensor) {
  const tfl::Tensor& stored = *subgraph.tensors()->Get(static_cast<uint32_t>(tensor));
  const std::string name = stored.name() == nullptr ? "" : OneLine(stored.name()->str());
  return name.empty() ? fmt::format("tensor_{}", tensor) : name;
}

TfliteOpImport::TfliteOpImport(TfliteGraphState& state, const tfl::Operator& op, Node origin)
    : state_(state),
      op_(op),
      origin_(std::move(origin)),
      rewrite_(state.graph, state.graph.nodes, origin_),
      first_value_(state.graph.values.size()) {}

int TfliteOpImport::input_count() const {
  return op_.inputs() == nullptr ? 0 : static_cast<int>(op_.inputs()->size());
}
int TfliteOpImport::output_count() const {
  return op_.outputs() == nullptr ? 0 : static_cast<int>(op_.outputs()->size());
}
bool TfliteOpImport::HasInput(int i) const { return i < input_count() && InputTensor(i) >= 0; }

absl::Status TfliteOpImport::CheckCounts(int least_inputs, int most_inputs, int outputs) const {
  if (input_count() < least_inputs || input_count() > most_inputs) {
    return InvalidArgument("it has {} inputs, {} to {} are expected", input_count(), least_inputs,
                           most_inputs);
  }
  for (int i = 0; i < least_inputs; ++i) {
    if (!HasInput(i)) return InvalidArgument("input {} is left out", i);
  }
  if (output_count() == outputs) return absl::OkStatus();
  return InvalidArgument("it has {} outputs, {} expected", output_count(), outputs);
}

absl::StatusOr<ValueId> TfliteOpImport::Stored(int i) {
  if (!HasInput(i)) return InvalidArgument("input {} is left out", i);
  const int tensor = InputTensor(i);
  ValueId& value = state_.values[static_cast<size_t>(tensor)];
  if (value != ValueId::kNone) return value;
  const tfl::Tensor& stored = TensorAt(tensor);
  const std::string where = TensorWhere(*state_.subgraph, tensor);
  if (stored.is_variable()) {
    return Unimplemented("{} is a state, which this operator cannot read", where);
  }
  absl::StatusOr<Tensor> constant = ReadConstant(state_.file, stored);
  if (!constant.ok()) return Annotate(constant.status(), where);
  value =
      state_.graph.AddConstant(TfliteTensorName(*state_.subgraph, tensor), *std::move(constant));
  return value;
}

absl::StatusOr<std::optional<TfliteQuantization>> TfliteOpImport::QuantizationOf(int tensor) const {
  auto quantization = ReadQuantization(TensorAt(tensor));
  if (quantization.ok()) return quantization;
  return Annotate(quantization.status(), TensorWhere(*state_.subgraph, tensor));
}
absl::StatusOr<std::optional<TfliteQuantization>> TfliteOpImport::InputQuantization(int i) const {
  if (!HasInput(i)) return InvalidArgument("input {} is left out", i);
  return QuantizationOf(InputTensor(i));
}
absl::StatusOr<std::optional<TfliteQuantization>> TfliteOpImport::OutputQuantization(int j) const {
  return QuantizationOf(OutputTensor(j));
}

absl::StatusOr<bool> TfliteOpImport::SameScale(int i, int j) const {
  BERTH_ASSIGN_OR_RETURN(const auto in, InputQuantization(i));
  BERTH_ASSIGN_OR_RETURN(const auto out, OutputQuantization(j));
  if (!in || !out) return true;
  return in->scales == out->scales && in->zero_points == out->zero_points;
}

absl::StatusOr<TensorType> TfliteOpImport::DeclaredOutput(int j) const {
  auto type = TfliteType(TensorAt(OutputTensor(j)));
  if (type.ok()) return type;
  return Annotate(type.status(), TensorWhere(*state_.subgraph, OutputTensor(j)));
}

absl::StatusOr<bool> TfliteOpImport::IsQuantizedOp() const {
  BERTH_ASSIGN_OR_RETURN(const auto quantization, OutputQuantization(0));
  return quantization.has_value();
}

absl::StatusOr<ValueId> TfliteOpImport::RealOfTensor(int tensor, ValueId stored, int axis) {
  BERTH_ASSIGN_OR_RETURN(auto quantization, QuantizationOf(tensor));
  const DType dtype = TypeOf(stored).dtype;
  if (quantization && quantization->per_axis()) quantization->axis = axis;
  BERTH_ASSIGN_OR_RETURN(const bool keeps_integers, IsQuantizedOp());
  if (const Tensor* constant = Constant(stored);
      constant != nullptr && (dtype == DType::kFloat16 || (quantization && !keeps_integers))) {
    BERTH_ASSIGN_OR_RETURN(Tensor real, ToRealConstant(*constant, quantization));
    return AddConstant(std::move(real));
  }
  if (quantization) return Dequantized(stored, *quantization, axis);
  if (dtype != DType::kFloat16) return stored;
  Attributes attributes;
  attributes.Set("to", DTypeToOnnx(DType::kFloat32));
  return Apply(OpKind::kCast, {stored}, std::move(attributes));
}

absl::StatusOr<ValueId> TfliteOpImport::Real(int i) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, Stored(i));
  BERTH_ASSIGN_OR_RETURN(const auto quantization, InputQuantization(i));
  return RealOf(i, stored, quantization ? quantization->axis : 0);
}

absl::StatusOr<ValueId> TfliteOpImport::RealOf(int i, ValueId stored, int axis) {
  return RealOfTensor(InputTensor(i), stored, axis);
}

absl::StatusOr<ValueId> TfliteOpImport::RealWeights(int i, const Permutation& order) {
  BERTH_ASSIGN_OR_RETURN(ValueId stored, Stored(i));
  if (ShapeOf(stored).rank() != static_cast<int>(order.size())) {
    return InvalidArgument("weights {} have rank {}, {} expected", ShapeOf(stored).ToString(),
                           ShapeOf(stored).rank(), order.size());
  }
  BERTH_ASSIGN_OR_RETURN(const auto quantization, InputQuantization(i));
  BERTH_ASSIGN_OR_RETURN(stored, Transposed(stored, order));
  const int axis = quantization ? Inverse(order)[static_cast<size_t>(quantization->axis)] : 0;
  return RealOf(i, stored, axis);
}

absl::StatusOr<ValueId> TfliteOpImport::RealBias(int i, int input, int weights) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, Stored(i));
  BERTH_ASSIGN_OR_RETURN(const auto of_input, InputQuantization(input));
  BERTH_ASSIGN_OR_RETURN(const auto of_weights, InputQuantization(weights));
  const DType dtype = TypeOf(stored).dtype;
  if (!of_input || !of_weights || !IsInteger(dtype)) return Real(i);
  if (of_input->per_axis()) return Unimplemented("an input with a scale for each channel");
  TfliteQuantization quantization;
  for (const float scale : of_weights->scales) {
    quantization.scales.push_back(of_input->scales[0] * scale);
  }
  quantization.zero_points.assign(quantization.scales.size(), 0);
  if (ShapeOf(stored).rank() != 1 ||
      (quantization.per_axis() &&
       ShapeOf(stored)[0] != static_cast<int64_t>(quantization.scales.size()))) {
    return InvalidArgument("a bias of shape {} for {} scales", ShapeOf(stored).ToString(),
                           quantization.scales.size());
  }
  if (dtype == DType::kInt64) return RealWideBias(stored, quantization);
  return Dequantized(stored, quantization, 0);
}

absl::StatusOr<std::vector<int64_t>> TfliteOpImport::KnownInts(int i, std::string_view what) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, Stored(i));
  const Tensor* constant = Constant(stored);
  if (constant == nullptr) {
    return Unimplemented("its {} ('{}') are only known at run time", what,
                         state_.graph.at(stored).name);
  }
  return ToInt64Values(constant->view());
}

absl::StatusOr<Tensor> TfliteOpImport::KnownReals(int i) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, Stored(i));
  const Tensor* constant = Constant(stored);
  if (constant == nullptr) {
    return Unimplemented("input {} ('{}') is only known at run time", i,
                         state_.graph.at(stored).name);
  }
  BERTH_ASSIGN_OR_RETURN(const auto quantization, InputQuantization(i));
  return ToRealConstant(*constant, quantization);
}

absl::StatusOr<ValueId> TfliteOpImport::StateBefore(int i) {
  if (!HasInput(i)) return ValueId::kNone;
  const int tensor = InputTensor(i);
  ValueId& value = state_.values[static_cast<size_t>(tensor)];
  if (value != ValueId::kNone || !TensorAt(tensor).is_variable()) return Stored(i);
  if (!state_.keeps_states) return ValueId::kNone;
  BERTH_ASSIGN_OR_RETURN(TensorType type, TfliteType(TensorAt(tensor)));
  value = state_.graph.AddValue(TfliteTensorName(*state_.subgraph, tensor), std::move(type));
  state_.graph.inputs.push_back(value);
  return value;
}

void TfliteOpImport::SetStateAfter(int i, ValueId stored) {
  if (!HasInput(i) || !TensorAt(InputTensor(i)).is_variable() || !state_.keeps_states) return;
  const std::vector<ValueId>& inputs = state_.graph.inputs;
  const ValueId before = state_.values[static_cast<size_t>(InputTensor(i))];
  const auto input = std::find(inputs.begin(), inputs.end(), before);
  if (input == inputs.end()) return;  // written by another operator before
  state_.next_states.push_back(
      {InputTensor(i), static_cast<size_t>(input - inputs.begin()), stored});
}

absl::StatusOr<ValueId> TfliteOpImport::Apply(OpKind kind, std::vector<ValueId> inputs,
                                              Attributes attributes) {
  Graph& graph = state_.graph;
  const ValueId result = rewrite_.Apply(kind, std::move(inputs), std::move(attributes));
  BERTH_RETURN_IF_ERROR(rewrite_.status());
  // Shapes that the model computes are needed while the next operators are read.
  if (auto known = KnownResults(graph, graph.nodes.back())) {
    if ((*known)[0].type() == graph.at(result).type) {
      graph.at(result).constant = std::make_shared<const Tensor>(std::move((*known)[0]));
      graph.nodes.pop_back();
    }
  }
  return result;
}

absl::StatusOr<ValueId> TfliteOpImport::Transposed(ValueId value, const Permutation& order) {
  if (ShapeOf(value).rank() != static_cast<int>(order.size())) {
    return InvalidArgument("a tensor {} of rank {} where rank {} is expected",
                           TypeOf(value).ToString(), ShapeOf(value).rank(), order.size());
  }
  if (IsIdentity(order)) return value;
  if (const Tensor* constant = Constant(value)) return AddConstant(Permuted(*constant, order));
  Attributes attributes;
  attributes.Set("perm", ToAttribute(order));
  return Apply(OpKind::kTranspose, {value}, std::move(attributes));
}

absl::StatusOr<ValueId> TfliteOpImport::Reshaped(ValueId value,
                                                 const std::vector<int64_t>& extents) {
  if (ShapeOf(value).extents() == extents) return value;
  Attributes attributes;
  attributes.Set("allowzero", int64_t{1});
  return Apply(OpKind::kReshape, {value, Int64s(extents)}, std::move(attributes));
}

absl::StatusOr<ValueId> TfliteOpImport::ChannelsFirst(ValueId value) {
  const auto found = state_.channels_first.find(value);
  if (found != state_.channels_first.end()) return found->second;
  return Transposed(value, kToChannelsFirst);
}

absl::StatusOr<ValueId> TfliteOpImport::Activated(ValueId value, tfl::Activation activation) {
  if (activation == tfl::Activation::NONE) return value;
  if (activation == tfl::Activation::TANH) return Apply(OpKind::kTanh, {value});
  if (activation == tfl::Activation::RELU) return Apply(OpKind::kRelu, {value});
  const std::optional<RealRange> range = CutsOff(activation);
  if (!range) {
    return Unimplemented("fused activation {} ({})", static_cast<int>(activation),
                         tfl::EnumNameActivation(activation));
  }
  return Apply(OpKind::kClip, {value, Scalar(static_cast<float>(range->least)),
                               Scalar(static_cast<float>(range->most))});
}

absl::Status TfliteOpImport::SetStored(int j, ValueId stored) {
  const int tensor = OutputTensor(j);
  BERTH_ASSIGN_OR_RETURN(const DType declared, TfliteDType(TensorAt(tensor).type()));
  Value& value = state_.graph.at(stored);
  if (value.type.dtype != declared) {
    return InvalidArgument("{} is declared {}, the operator gives {}",
                           TensorWhere(*state_.subgraph, tensor), DTypeName(declared),
                           DTypeName(value.type.dtype));
  }
  if (Index(stored) >= first_value_) value.name = TfliteTensorName(*state_.subgraph, tensor);
  state_.values[static_cast<size_t>(tensor)] = stored;
  return absl::OkStatus();
}

absl::Status TfliteOpImport::SetMoved(int j, int i, ValueId stored) {
  BERTH_ASSIGN_OR_RETURN(const bool same, SameScale(i, j));
  if (same) return SetStored(j, stored);
  BERTH_ASSIGN_OR_RETURN(const ValueId real, RealOf(i, stored));
  return SetReal(j, real);
}

absl::StatusOr<ValueId> TfliteOpImport::ActivateAndQuantize(int j, ValueId real,
                                                            tfl::Activation activation) {
  BERTH_ASSIGN_OR_RETURN(const auto quantization, OutputQuantization(j));
  if (!quantization) return Activated(real, activation);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, TfliteDType(TensorAt(OutputTensor(j)).type()));
  BERTH_ASSIGN_OR_RETURN(const StoredRange stored, RangeOf(dtype));
  const std::optional<RealRange> cut = CutsOff(activation);
  if (!cut) {
    BERTH_ASSIGN_OR_RETURN(real, Activated(real, activation));
  } else if (quantization->per_axis()) {
    return Unimplemented("a result with a scale for each channel");
  } else {
    // The bounds are rounded to stored numbers; where those are the type's, it cuts off itself.
    const double scale = quantization->scales[0];
    const auto zero = static_cast<double>(quantization->zero_points[0]);
    const double least =
        std::max(zero + std::round(cut->least / scale), static_cast<double>(stored.least));
    const double most =
        std::min(zero + std::round(cut->most / scale), static_cast<double>(stored.most));
    if (least > static_cast<double>(stored.least) || most < static_cast<double>(stored.most)) {
      const ValueId low = Scalar(static_cast<float>((least - zero) * scale));
      const ValueId high = Scalar(static_cast<float>((most - zero) * scale));
      BERTH_ASSIGN_OR_RETURN(real, Apply(OpKind::kClip, {real, low, high}));
    }
  }
  return Quantized(real, *quantization, dtype);
}

absl::Status TfliteOpImport::SetReal(int j, ValueId real, tfl::Activation activation) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, ActivateAndQuantize(j, real, activation));
  return SetStored(j, stored);
}

absl::Status TfliteOpImport::SetRealShaped(int j, ValueId real, tfl::Activation activation,
                                           const Shape& shape) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, ActivateAndQuantize(j, real, activation));
  BERTH_ASSIGN_OR_RETURN(const ValueId reshaped, Reshaped(stored, shape.extents()));
  return SetStored(j, reshaped);
}

absl::Status TfliteOpImport::SetStoredChannelsFirst(int j, ValueId stored) {
  BERTH_ASSIGN_OR_RETURN(const ValueId last, Transposed(stored, kToChannelsLast));
  state_.channels_first.emplace(last, stored);
  return SetStored(j, last);
}

absl::Status TfliteOpImport::SetRealChannelsFirst(int j, ValueId real, tfl::Activation activation) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, ActivateAndQuantize(j, real, activation));
  return SetStoredChannelsFirst(j, stored);
}

}  // namespace berth
