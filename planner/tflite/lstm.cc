// UNIDIRECTIONAL_SEQUENCE_LSTM, unrolled over time.
//
// With the gates i, f, g, o (each sigmoid or, for g, the fused activation of W x + R h + b, and a
// peephole P c where there is one):
//     c' = f c + i g        h' = o act(c')        optionally projected
// Without an input gate i = 1 - f. The products with x of all steps and gates are one matrix
// product, those with h one for each step. Integer models round h and c to their scales after each
// step; gates are not rounded (TFLite keeps them in 16 bits).
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

constexpr int64_t kMostSteps = 1024;
constexpr int kGates = 4;  // in the file's order: input, forget, cell, output
enum Gate { kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3 };
// Positions among the inputs.
constexpr int kWeights = 1, kRecurrent = 5, kPeephole = 9, kBias = 12, kProjection = 16;
constexpr int kProjectionBias = 17, kHiddenState = 18, kCellState = 19, kLayerNorm = 20;
constexpr int kInputs = 24;

// Matrices [rows, columns] of the gates side by side and transposed: [columns, gates * rows].
template <typename T>
absl::StatusOr<Tensor> Stacked(const std::vector<Tensor>& matrices) {
  const Shape& first = matrices[0].shape();
  for (const Tensor& matrix : matrices) {
    if (matrix.shape().rank() != 2 || matrix.shape() != first) {
      return InvalidArgument("weights {} beside weights {}", matrix.shape().ToString(),
                             first.ToString());
    }
  }
  const auto rows = static_cast<size_t>(first[0]), columns = static_cast<size_t>(first[1]);
  const size_t width = rows * matrices.size();
  Tensor stacked(TensorType{matrices[0].dtype(), {first[1], static_cast<int64_t>(width)}});
  const absl::Span<T> out = stacked.Values<T>();
  for (size_t gate = 0; gate < matrices.size(); ++gate) {
    const absl::Span<const T> values = matrices[gate].Values<T>();
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        out[column * width + gate * rows + row] = values[row * columns + column];
      }
    }
  }
  return stacked;
}

class Lstm {
 public:
  Lstm(TfliteOpImport& op, const tfl::UnidirectionalSequenceLstmOptions& options)
      : op_(op), options_(options) {}

  absl::Status Run() {
    BERTH_RETURN_IF_ERROR(CheckForm());
    BERTH_RETURN_IF_ERROR(ReadWeights());
    BERTH_RETURN_IF_ERROR(ReadStates());
    BERTH_ASSIGN_OR_RETURN(const ValueId inputs, InputProducts());
    std::vector<ValueId> results;
    for (int64_t step = 0; step < steps_; ++step) {
      BERTH_ASSIGN_OR_RETURN(const ValueId result, Step(inputs, step));
      results.push_back(result);
    }
    Attributes attributes;
    attributes.Set("axis", int64_t{time_axis_});
    BERTH_ASSIGN_OR_RETURN(const ValueId sequence,
                           op_.Apply(OpKind::kConcat, std::move(results), std::move(attributes)));
    op_.SetStateAfter(kHiddenState, hidden_stored_);
    op_.SetStateAfter(kCellState, cell_stored_);
    return op_.SetStored(0, sequence);
  }

 private:
  absl::Status CheckForm() {
    for (int i = kLayerNorm; i < kInputs; ++i) {
      if (op_.HasInput(i)) return Unimplemented("layer normalization in it");
    }
    if (options_.diagonal_recurrent_tensors()) return Unimplemented("diagonal recurrent weights");
    has_input_gate_ = op_.HasInput(kWeights + kInputGate);
    BERTH_ASSIGN_OR_RETURN(const ValueId stored, op_.Stored(0));
    shape_ = op_.ShapeOf(stored);
    if (shape_.rank() != 3) return InvalidArgument("an input of shape {}", shape_.ToString());
    time_axis_ = options_.time_major() ? 0 : 1;
    steps_ = shape_[time_axis_];
    batch_ = shape_[1 - time_axis_];
    if (steps_ >= 1 && steps_ <= kMostSteps) return absl::OkStatus();
    return Unimplemented("{} steps of time, 1 to {} are supported", steps_, kMostSteps);
  }

  absl::StatusOr<std::vector<Tensor>> OfGates(int first_input) {
    std::vector<Tensor> tensors;
    for (int gate = has_input_gate_ ? kInputGate : kForgetGate; gate < kGates; ++gate) {
      BERTH_ASSIGN_OR_RETURN(Tensor tensor, op_.KnownReals(first_input + gate));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  // The gates' weights stay integers in an integer model: a scale for each gate's columns.
  absl::StatusOr<std::optional<ValueId>> StackedIntegers(int first_input) {
    BERTH_ASSIGN_OR_RETURN(const auto result_scale, op_.OutputQuantization());
    if (!result_scale) return std::nullopt;
    std::vector<Tensor> matrices;
    TfliteQuantization by;
    for (int gate = has_input_gate_ ? kInputGate : kForgetGate; gate < kGates; ++gate) {
      BERTH_ASSIGN_OR_RETURN(const ValueId stored, op_.Stored(first_input + gate));
      BERTH_ASSIGN_OR_RETURN(const auto scale, op_.InputQuantization(first_input + gate));
      const Tensor* constant = op_.Constant(stored);
      if (constant == nullptr || constant->dtype() != DType::kInt8 || !scale || scale->per_axis() ||
          scale->zero_points[0] != 0 || constant->shape().rank() != 2) {
        return std::nullopt;
      }
      by.scales.insert(by.scales.end(), static_cast<size_t>(constant->shape()[0]),
                       scale->scales[0]);
      matrices.push_back(*constant);
    }
    by.zero_points.assign(by.scales.size(), 0);
    BERTH_ASSIGN_OR_RETURN(Tensor stacked, Stacked<int8_t>(matrices));
    BERTH_ASSIGN_OR_RETURN(const ValueId real,
                           op_.Dequantized(op_.AddConstant(std::move(stacked)), by, 1));
    return real;
  }

  absl::StatusOr<ValueId> StackedWeights(int first_input) {
    BERTH_ASSIGN_OR_RETURN(const auto integers, StackedIntegers(first_input));
    if (integers) return *integers;
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> weights, OfGates(first_input));
    BERTH_ASSIGN_OR_RETURN(Tensor stacked, Stacked<float>(weights));
    return op_.AddConstant(std::move(stacked));
  }

  absl::Status ReadWeights() {
    BERTH_ASSIGN_OR_RETURN(weights_, StackedWeights(kWeights));
    gates_ = has_input_gate_ ? kGates : kGates - 1;
    cells_ = op_.ShapeOf(weights_)[1] / gates_;
    if (op_.ShapeOf(weights_)[0] != shape_[2]) {
      return InvalidArgument("an input of shape {} for stacked weights {}", shape_.ToString(),
                             op_.ShapeOf(weights_).ToString());
    }
    BERTH_ASSIGN_OR_RETURN(recurrent_, StackedWeights(kRecurrent));
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> biases, OfGates(kBias));
    Tensor bias(TensorType{DType::kFloat32, {gates_ * cells_}});
    for (size_t gate = 0; gate < biases.size(); ++gate) {
      if (biases[gate].shape() != Shape{cells_}) {
        return InvalidArgument("a bias of shape {} for {} cells", biases[gate].shape().ToString(),
                               cells_);
      }
      const absl::Span<const float> values = biases[gate].Values<float>();
      std::copy(values.begin(), values.end(),
                bias.Values<float>().begin() + static_cast<ptrdiff_t>(gate) * cells_);
    }
    bias_ = op_.AddConstant(std::move(bias));
    return absl::OkStatus();
  }

  absl::Status ReadStates() {
    BERTH_ASSIGN_OR_RETURN(hidden_scale_, op_.OutputQuantization());
    BERTH_ASSIGN_OR_RETURN(const TensorType result, op_.DeclaredOutput());
    hidden_dtype_ = result.dtype;
    BERTH_ASSIGN_OR_RETURN(hidden_stored_, op_.StateBefore(kHiddenState));
    BERTH_ASSIGN_OR_RETURN(cell_stored_, op_.StateBefore(kCellState));
    if (op_.HasInput(kCellState)) {
      BERTH_ASSIGN_OR_RETURN(cell_scale_, op_.InputQuantization(kCellState));
    }
    if (hidden_stored_ != ValueId::kNone) {
      BERTH_ASSIGN_OR_RETURN(hidden_, op_.RealOf(kHiddenState, hidden_stored_));
    }
    if (cell_stored_ != ValueId::kNone) {
      BERTH_ASSIGN_OR_RETURN(cell_, op_.RealOf(kCellState, cell_stored_));
    }
    return absl::OkStatus();
  }

  // W x + b of every step, in the input's order of axes.
  absl::StatusOr<ValueId> InputProducts() {
    BERTH_ASSIGN_OR_RETURN(ValueId x, op_.Stored(0));
    BERTH_ASSIGN_OR_RETURN(x, op_.Reshaped(x, {steps_ * batch_, shape_[2]}));
    BERTH_ASSIGN_OR_RETURN(x, op_.RealOf(0, x));
    BERTH_ASSIGN_OR_RETURN(x, op_.Apply(OpKind::kGemm, {x, weights_, bias_}));
    return op_.Reshaped(x, {shape_[0], shape_[1], gates_ * cells_});
  }

  absl::StatusOr<ValueId> Part(ValueId x, int axis, int64_t begin, int64_t extent) {
    if (begin == 0 && op_.ShapeOf(x)[axis] == extent) return x;
    return op_.Apply(OpKind::kSlice,
                     {x, op_.Int64s({begin}), op_.Int64s({begin + extent}), op_.Int64s({axis})});
  }

  // The gate's sum before its activation; `cell` is what its peephole sees.
  absl::StatusOr<ValueId> GateSum(ValueId sums, Gate gate, ValueId cell) {
    const int64_t position = gate - (has_input_gate_ ? 0 : 1);
    BERTH_ASSIGN_OR_RETURN(ValueId sum, Part(sums, 1, position * cells_, cells_));
    const int peephole = kPeephole + (gate == kOutputGate ? 2 : gate);
    if (gate == kCellGate || !op_.HasInput(peephole) || cell == ValueId::kNone) return sum;
    BERTH_ASSIGN_OR_RETURN(Tensor weights, op_.KnownReals(peephole));
    BERTH_ASSIGN_OR_RETURN(const ValueId seen,
                           op_.Apply(OpKind::kMul, {cell, op_.AddConstant(std::move(weights))}));
    return op_.Apply(OpKind::kAdd, {sum, seen});
  }

  absl::StatusOr<ValueId> SigmoidGate(ValueId sums, Gate gate, ValueId cell) {
    BERTH_ASSIGN_OR_RETURN(const ValueId sum, GateSum(sums, gate, cell));
    return op_.Apply(OpKind::kSigmoid, {sum});
  }

  absl::StatusOr<ValueId> Clipped(ValueId x, float bound) {
    if (!(bound > 0)) return x;
    return op_.Apply(OpKind::kClip, {x, op_.Scalar(-bound), op_.Scalar(bound)});
  }

  absl::Status NextCell(ValueId sums) {
    BERTH_ASSIGN_OR_RETURN(const ValueId forget, SigmoidGate(sums, kForgetGate, cell_));
    BERTH_ASSIGN_OR_RETURN(ValueId fresh, GateSum(sums, kCellGate, cell_));
    BERTH_ASSIGN_OR_RETURN(fresh, op_.Activated(fresh, options_.fused_activation()));
    ValueId input = ValueId::kNone;
    if (has_input_gate_) {
      BERTH_ASSIGN_OR_RETURN(input, SigmoidGate(sums, kInputGate, cell_));
    } else {
      BERTH_ASSIGN_OR_RETURN(input, op_.Apply(OpKind::kSub, {op_.Scalar(1), forget}));
    }
    BERTH_ASSIGN_OR_RETURN(ValueId next, op_.Apply(OpKind::kMul, {input, fresh}));
    if (cell_ != ValueId::kNone) {
      BERTH_ASSIGN_OR_RETURN(const ValueId kept, op_.Apply(OpKind::kMul, {forget, cell_}));
      BERTH_ASSIGN_OR_RETURN(next, op_.Apply(OpKind::kAdd, {kept, next}));
    }
    BERTH_ASSIGN_OR_RETURN(cell_, Clipped(next, options_.cell_clip()));
    cell_stored_ = cell_;
    if (!cell_scale_) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(cell_stored_, op_.Quantized(cell_, *cell_scale_, DType::kInt16));
    BERTH_ASSIGN_OR_RETURN(cell_, op_.Dequantized(cell_stored_, *cell_scale_, 0));
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> Projected(ValueId hidden) {
    if (!op_.HasInput(kProjection)) return hidden;
    BERTH_ASSIGN_OR_RETURN(Tensor weights, op_.KnownReals(kProjection));
    std::vector<ValueId> operands = {hidden, op_.AddConstant(std::move(weights))};
    if (op_.HasInput(kProjectionBias)) {
      BERTH_ASSIGN_OR_RETURN(Tensor bias, op_.KnownReals(kProjectionBias));
      operands.push_back(op_.AddConstant(std::move(bias)));
    }
    Attributes attributes;
    attributes.Set("transB", int64_t{1});
    BERTH_ASSIGN_OR_RETURN(const ValueId projected,
                           op_.Apply(OpKind::kGemm, std::move(operands), std::move(attributes)));
    return Clipped(projected, options_.proj_clip());
  }

  // The result of one step with its axis of time, as it is stored.
  absl::StatusOr<ValueId> Step(ValueId inputs, int64_t step) {
    BERTH_ASSIGN_OR_RETURN(ValueId sums, Part(inputs, time_axis_, step, 1));
    BERTH_ASSIGN_OR_RETURN(sums, op_.Reshaped(sums, {batch_, gates_ * cells_}));
    if (hidden_ != ValueId::kNone) {
      BERTH_ASSIGN_OR_RETURN(const ValueId fed_back,
                             op_.Apply(OpKind::kMatMul, {hidden_, recurrent_}));
      BERTH_ASSIGN_OR_RETURN(sums, op_.Apply(OpKind::kAdd, {fed_back, sums}));
    }
    BERTH_RETURN_IF_ERROR(NextCell(sums));
    BERTH_ASSIGN_OR_RETURN(const ValueId output, SigmoidGate(sums, kOutputGate, cell_));
    BERTH_ASSIGN_OR_RETURN(const ValueId shown, op_.Activated(cell_, options_.fused_activation()));
    BERTH_ASSIGN_OR_RETURN(hidden_, op_.Apply(OpKind::kMul, {output, shown}));
    BERTH_ASSIGN_OR_RETURN(hidden_, Projected(hidden_));
    hidden_stored_ = hidden_;
    if (hidden_scale_) {
      BERTH_ASSIGN_OR_RETURN(hidden_stored_, op_.Quantized(hidden_, *hidden_scale_, hidden_dtype_));
      BERTH_ASSIGN_OR_RETURN(hidden_, op_.Dequantized(hidden_stored_, *hidden_scale_, 0));
    }
    std::vector<int64_t> extents = op_.ShapeOf(hidden_stored_).extents();
    extents.insert(extents.begin() + time_axis_, 1);
    return op_.Reshaped(hidden_stored_, extents);
  }

  TfliteOpImport& op_;
  const tfl::UnidirectionalSequenceLstmOptions& options_;
  bool has_input_gate_ = true;
  Shape shape_;  // of the input
  int time_axis_ = 1;
  int64_t steps_ = 0, batch_ = 0, cells_ = 0, gates_ = kGates;
  ValueId weights_ = ValueId::kNone, recurrent_ = ValueId::kNone, bias_ = ValueId::kNone;
  // The state so far, as reals and as it is stored; kNone: zeros.
  ValueId hidden_ = ValueId::kNone, cell_ = ValueId::kNone;
  ValueId hidden_stored_ = ValueId::kNone, cell_stored_ = ValueId::kNone;
  std::optional<TfliteQuantization> hidden_scale_, cell_scale_;
  DType hidden_dtype_ = DType::kFloat32;
};

}  // namespace

absl::Status UnidirectionalSequenceLstm(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, kInputs));
  BERTH_ASSIGN_OR_RETURN(const auto* options,
                         op.GetOptions<tfl::UnidirectionalSequenceLstmOptions>());
  return Lstm(op, *options).Run();
}

}  // namespace berth::tfl_ops
