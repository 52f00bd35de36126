// SVDF: a fully connected layer of low rank over a window of time.
//
// Each of `filters` features of the input goes into its row of the state [batch, filters, memory],
// which shifts by one each run; the row is summed with weights over time, `rank` consecutive rows
// are added up to a unit.
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

constexpr int kFeatureWeights = 1, kTimeWeights = 2, kBias = 3, kState = 4;

struct Sizes {
  int64_t batch = 0, filters = 0, memory = 0, rank = 1;
};

absl::StatusOr<ValueId> SumOver(TfliteOpImport& op, ValueId x, int64_t axis) {
  Attributes attributes;
  attributes.Set("keepdims", int64_t{0});
  return op.Apply(OpKind::kReduceSum, {x, op.Int64s({axis})}, std::move(attributes));
}

absl::StatusOr<Sizes> ReadSizes(TfliteOpImport& op, int rank, const Tensor& features,
                                const Tensor& times) {
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  const Shape& input = op.ShapeOf(x);
  const bool fits = input.rank() == 2 && features.shape().rank() == 2 &&
                    times.shape().rank() == 2 && features.shape()[1] == input[1] &&
                    features.shape()[0] == times.shape()[0] && rank >= 1 &&
                    features.shape()[0] % rank == 0 && times.shape()[1] >= 1;
  if (fits) return Sizes{input[0], times.shape()[0], times.shape()[1], rank};
  return InvalidArgument("an input of shape {}, weights {} over features and {} over time, rank {}",
                         input.ToString(), features.shape().ToString(), times.shape().ToString(),
                         rank);
}

// The features of this run, rounded to the state's scale where it has one: [batch, filters, 1].
absl::StatusOr<ValueId> StoredFeatures(TfliteOpImport& op, const Sizes& sizes) {
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Real(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId features, op.RealWeights(kFeatureWeights, {0, 1}));
  Attributes attributes;
  attributes.Set("transB", int64_t{1});
  BERTH_ASSIGN_OR_RETURN(ValueId fresh,
                         op.Apply(OpKind::kGemm, {x, features}, std::move(attributes)));
  BERTH_ASSIGN_OR_RETURN(const auto scale, op.InputQuantization(kState));
  if (scale) {
    BERTH_ASSIGN_OR_RETURN(fresh, op.Quantized(fresh, *scale, DType::kInt16));
  }
  return op.Reshaped(fresh, {sizes.batch, sizes.filters, 1});
}

// The weights over time of the last column: the others meet zeros.
Tensor LastColumn(const Tensor& times, const Sizes& sizes) {
  Tensor column(TensorType{DType::kFloat32, {sizes.filters, 1}});
  for (int64_t row = 0; row < sizes.filters; ++row) {
    column.Values<float>()[static_cast<size_t>(row)] =
        times.Values<float>()[static_cast<size_t>((row + 1) * sizes.memory - 1)];
  }
  return column;
}

absl::StatusOr<ValueId> ShiftIn(TfliteOpImport& op, const Sizes& sizes, ValueId state,
                                ValueId fresh) {
  BERTH_ASSIGN_OR_RETURN(ValueId rows,
                         op.Reshaped(state, {sizes.batch, sizes.filters, sizes.memory}));
  BERTH_ASSIGN_OR_RETURN(
      rows,
      op.Apply(OpKind::kSlice, {rows, op.Int64s({1}), op.Int64s({sizes.memory}), op.Int64s({2})}));
  Attributes attributes;
  attributes.Set("axis", int64_t{2});
  return op.Apply(OpKind::kConcat, {rows, fresh}, std::move(attributes));
}

}  // namespace

absl::Status Svdf(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(3, 5));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::SvdfOptions>());
  BERTH_ASSIGN_OR_RETURN(const Tensor features, op.KnownReals(kFeatureWeights));
  BERTH_ASSIGN_OR_RETURN(Tensor times, op.KnownReals(kTimeWeights));
  BERTH_ASSIGN_OR_RETURN(const Sizes sizes, ReadSizes(op, options->rank(), features, times));
  BERTH_ASSIGN_OR_RETURN(ValueId window, StoredFeatures(op, sizes));
  BERTH_ASSIGN_OR_RETURN(const ValueId before, op.StateBefore(kState));
  if (before != ValueId::kNone) {
    BERTH_ASSIGN_OR_RETURN(window, ShiftIn(op, sizes, before, window));
    BERTH_ASSIGN_OR_RETURN(const ValueId after, op.Reshaped(window, op.ShapeOf(before).extents()));
    op.SetStateAfter(kState, after);
  } else {
    times = LastColumn(times, sizes);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.RealOf(kState, window));
  BERTH_ASSIGN_OR_RETURN(const ValueId weighted,
                         op.Apply(OpKind::kMul, {real, op.AddConstant(std::move(times))}));
  BERTH_ASSIGN_OR_RETURN(ValueId sums, SumOver(op, weighted, 2));
  if (sizes.rank > 1) {
    BERTH_ASSIGN_OR_RETURN(
        sums, op.Reshaped(sums, {sizes.batch, sizes.filters / sizes.rank, sizes.rank}));
    BERTH_ASSIGN_OR_RETURN(sums, SumOver(op, sums, 2));
  }
  if (op.HasInput(kBias)) {
    BERTH_ASSIGN_OR_RETURN(Tensor bias, op.KnownReals(kBias));
    BERTH_ASSIGN_OR_RETURN(sums, op.Apply(OpKind::kAdd, {sums, op.AddConstant(std::move(bias))}));
  }
  return op.SetReal(0, sums, options->fused_activation());
}

}  // namespace berth::tfl_ops
