// One TFLite operator becoming nodes: what it reads, and what its results become.
//
// A value of the graph holds what the tensor stores. Arithmetic on quantized tensors is written on
// real numbers: DequantizeLinear of the operands, the op, the fused activation, QuantizeLinear with
// the result's scale and zero point; the planner folds that into integer arithmetic. Ops that only
// move elements take what is stored.
//
// TFLite keeps channels last. Ops with a window are written channels first between transposes of
// what is stored, the form that every pass knows; the layout pass makes the transposes vanish.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/graph.h"
#include "kernels/rewrite.h"
#include "planner/passes/permutation.h"
#include "planner/tflite/tensors.h"

namespace berth {

// A value that is another one with a margin of zeros around its spatial axes.
struct TflitePadded {
  ValueId source = ValueId::kNone;
  std::vector<int64_t> before, after;  // height, width
};

// A state of the model: the input that it is before the run, and its value after it.
struct TfliteNextState {
  int tensor = 0;
  size_t input = 0;  // position among the graph's
  ValueId value = ValueId::kNone;
};

// Of the whole model, filled as the operators are walked in order.
struct TfliteGraphState {
  TfliteFile file;
  const tfl::SubGraph* subgraph = nullptr;
  Graph graph;
  std::vector<ValueId> values;                // of each tensor; kNone: not made yet
  std::map<ValueId, ValueId> channels_first;  // of a channels-last value: the value it came from
  std::map<ValueId, TflitePadded> padded;
  // TFLite runs the file by its own kernels (HasRunTimeShapes), not by XNNPACK's.
  bool own_kernels = false;
  bool keeps_states = false;  // states are inputs and outputs; else they are new in every run
  std::vector<TfliteNextState> next_states;
};

class TfliteOpImport {
 public:
  TfliteOpImport(TfliteGraphState& state, const tfl::Operator& op, Node origin);

  const tfl::Operator& op() const { return op_; }
  int input_count() const;
  int output_count() const;
  bool HasInput(int i) const;
  // InvalidArgument unless the operator has so many inputs (trailing ones may be left out as -1).
  absl::Status CheckCounts(int least_inputs, int most_inputs, int outputs = 1) const;

  // The operator's table of options; InvalidArgument where it has none or another's.
  template <typename Options>
  absl::StatusOr<const Options*> GetOptions() const {
    const Options* options = op_.template builtin_options_as<Options>();
    if (options == nullptr) return InvalidArgument("its table of options is missing");
    return options;
  }

  // Input i as it is stored.
  absl::StatusOr<ValueId> Stored(int i);
  // Input i as real numbers; integers that are no quantized reals are left as they are.
  absl::StatusOr<ValueId> Real(int i);
  // `stored`, which came from input i by moving elements (a channel axis, where scales differ by
  // channel, now stands at `axis`), as real numbers.
  absl::StatusOr<ValueId> RealOf(int i, ValueId stored, int axis = 0);
  // Weights of a quantized op stay integers behind a DequantizeLinear; elsewhere real constants.
  absl::StatusOr<ValueId> RealWeights(int i, const Permutation& order);
  // A bias has the scale of what it is added to, whatever its own says.
  absl::StatusOr<ValueId> RealBias(int i, int input, int weights);

  absl::StatusOr<std::optional<TfliteQuantization>> InputQuantization(int i) const;
  absl::StatusOr<std::optional<TfliteQuantization>> OutputQuantization(int j = 0) const;
  absl::StatusOr<std::optional<TfliteQuantization>> QuantizationOf(int tensor) const;
  // Whether inputs 0 and output j store the same numbers for the same reals.
  absl::StatusOr<bool> SameScale(int i, int j) const;
  absl::StatusOr<TensorType> DeclaredOutput(int j = 0) const;

  // What a state (or an operand in its place) holds before the run, as it is stored; kNone: zeros.
  absl::StatusOr<ValueId> StateBefore(int i);
  void SetStateAfter(int i, ValueId stored);

  // Values that are known at compile time; Unimplemented otherwise.
  absl::StatusOr<std::vector<int64_t>> KnownInts(int i, std::string_view what);
  absl::StatusOr<Tensor> KnownReals(int i);  // fp32
  const Tensor* Constant(ValueId value) const { return state_.graph.at(value).constant.get(); }
  // Copies: values move when others are added.
  TensorType TypeOf(ValueId value) const { return state_.graph.at(value).type; }
  Shape ShapeOf(ValueId value) const { return TypeOf(value).shape; }

  absl::StatusOr<ValueId> Apply(OpKind kind, std::vector<ValueId> inputs,
                                Attributes attributes = {});
  ValueId AddConstant(Tensor tensor) { return rewrite_.Constant(std::move(tensor)); }
  ValueId Scalar(float value) { return rewrite_.ScalarF32(value); }
  ValueId Int64s(const std::vector<int64_t>& values) { return rewrite_.Int64s(values); }
  // Identity orders and shapes give the value itself; constants are moved at once.
  absl::StatusOr<ValueId> Transposed(ValueId value, const Permutation& order);
  absl::StatusOr<ValueId> Reshaped(ValueId value, const std::vector<int64_t>& extents);
  absl::StatusOr<ValueId> ChannelsFirst(ValueId value);  // of rank 4
  absl::StatusOr<ValueId> Activated(ValueId value, tfl::Activation activation);
  absl::StatusOr<ValueId> Quantized(ValueId real, const TfliteQuantization& quantization,
                                    DType dtype);
  absl::StatusOr<ValueId> Dequantized(ValueId stored, const TfliteQuantization& quantization,
                                      int axis);

  // Result j is `stored`. Its element type is the declared one.
  absl::Status SetStored(int j, ValueId stored);
  // Result j from what moved elements of input i: requantized where the scales differ.
  absl::Status SetMoved(int j, int i, ValueId stored);
  // Result j from real numbers, through the activation and, where it is quantized, its scale.
  absl::Status SetReal(int j, ValueId real, tfl::Activation activation = tfl::Activation::NONE);
  // The same, the stored result in another shape of as many elements.
  absl::Status SetRealShaped(int j, ValueId real, tfl::Activation activation, const Shape& shape);
  // The same of a channels-first value.
  absl::Status SetRealChannelsFirst(int j, ValueId real,
                                    tfl::Activation activation = tfl::Activation::NONE);
  absl::Status SetStoredChannelsFirst(int j, ValueId stored);

  TfliteGraphState& state() { return state_; }

 private:
  int InputTensor(int i) const { return op_.inputs()->Get(static_cast<uint32_t>(i)); }
  int OutputTensor(int j) const { return op_.outputs()->Get(static_cast<uint32_t>(j)); }
  const tfl::Tensor& TensorAt(int tensor) const {
    return *state_.subgraph->tensors()->Get(static_cast<uint32_t>(tensor));
  }
  absl::StatusOr<bool> IsQuantizedOp() const;
  // An int64 bias, which goes with 16-bit inputs.
  absl::StatusOr<ValueId> RealWideBias(ValueId stored, const TfliteQuantization& quantization);
  absl::StatusOr<ValueId> RealOfTensor(int tensor, ValueId stored, int axis);
  absl::StatusOr<ValueId> ActivateAndQuantize(int j, ValueId real, tfl::Activation activation);

  TfliteGraphState& state_;
  const tfl::Operator& op_;
  const Node origin_;
  GraphRewriter rewrite_;
  const size_t first_value_;  // values from here on are this operator's
};

// Products of 16-bit inputs: TFLite's factors have 15 bits (quantized_products.h).
void LimitFactors(DType input, Attributes& product);

// "name", or "tensor_12" where the file gives none.
std::string TfliteTensorName(const tfl::SubGraph& subgraph, int tensor);

}  // namespace berth
