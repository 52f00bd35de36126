// Products of matrices.
#include "planner/tflite/hybrid.h"
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

// Axes of the result of a fully connected layer over `input`.
Shape ResultShape(const Shape& input, int64_t rows, int64_t columns, bool keep_axes) {
  if (!keep_axes) return Shape{rows, columns};
  Shape result = input;
  result[result.rank() - 1] = columns;
  return result;
}

absl::StatusOr<ValueId> Adjoint(TfliteOpImport& op, ValueId value, bool adjoint) {
  if (!adjoint) return value;
  const int rank = op.ShapeOf(value).rank();
  Permutation order = IdentityPermutation(rank);
  if (rank < 2) return InvalidArgument("an operand of rank {}", rank);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return op.Transposed(value, order);
}

// Activations [rows, inputs] by weights [outputs, inputs], + bias.
absl::StatusOr<ValueId> Product(TfliteOpImport& op, ValueId flat, ValueId weights,
                                const tfl::FullyConnectedOptions& options) {
  Attributes attributes;
  attributes.Set("transB", int64_t{1});
  LimitFactors(op.TypeOf(flat).dtype, attributes);
  ValueId bias = ValueId::kNone;
  if (op.HasInput(2)) {
    BERTH_ASSIGN_OR_RETURN(bias, op.RealBias(2, 0, 1));
  }
  BERTH_ASSIGN_OR_RETURN(const bool is_hybrid, IsHybrid(op));
  if (is_hybrid) {
    const bool symmetric = op.state().own_kernels && !options.asymmetric_quantize_inputs();
    return HybridProduct(op, OpKind::kGemm, {flat, weights, bias}, std::move(attributes),
                         symmetric);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.RealOf(0, flat));
  std::vector<ValueId> operands = {real, weights};
  if (bias != ValueId::kNone) operands.push_back(bias);
  return op.Apply(OpKind::kGemm, std::move(operands), std::move(attributes));
}

}  // namespace

absl::Status FullyConnected(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 3));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::FullyConnectedOptions>());
  if (options->weights_format() != 0) {
    return Unimplemented("weights in the shuffled format {}", options->weights_format());
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId weights, op.RealWeights(1, {0, 1}));
  const Shape input = op.ShapeOf(stored), matrix = op.ShapeOf(weights);
  if (matrix[1] < 1 || input.ElementCount() % matrix[1] != 0) {
    return InvalidArgument("an input of shape {} for weights {}", input.ToString(),
                           matrix.ToString());
  }
  if (options->keep_num_dims() && (input.rank() < 1 || input.back() != matrix[1])) {
    return InvalidArgument("an input of shape {} for weights {} that keeps its axes",
                           input.ToString(), matrix.ToString());
  }
  const int64_t rows = input.ElementCount() / matrix[1];
  BERTH_ASSIGN_OR_RETURN(const ValueId flat, op.Reshaped(stored, {rows, matrix[1]}));
  BERTH_ASSIGN_OR_RETURN(const ValueId product, Product(op, flat, weights, *options));
  return op.SetRealShaped(0, product, options->fused_activation(),
                          ResultShape(input, rows, matrix[0], options->keep_num_dims()));
}

absl::Status BatchMatMul(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::BatchMatMulOptions>());
  BERTH_ASSIGN_OR_RETURN(ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(ValueId y, op.Stored(1));
  BERTH_ASSIGN_OR_RETURN(x, Adjoint(op, x, options->adj_x()));
  BERTH_ASSIGN_OR_RETURN(y, Adjoint(op, y, options->adj_y()));
  BERTH_ASSIGN_OR_RETURN(x, op.RealOf(0, x));
  BERTH_ASSIGN_OR_RETURN(y, op.RealOf(1, y));
  BERTH_ASSIGN_OR_RETURN(const ValueId product, op.Apply(OpKind::kMatMul, {x, y}));
  return op.SetReal(0, product);
}

}  // namespace berth::tfl_ops
