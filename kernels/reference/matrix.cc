// References of MatMul, Gemm and BatchNormalization.
#include <cmath>

#include "kernels/ops/matmul.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/quantized_product.h"
#include "kernels/reference/reference_list.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

// Floats are summed in double; integers wrap in their own width.
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T>
Sum<T> Widen(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return static_cast<float>(value);
  } else {
    return static_cast<Sum<T>>(value);
  }
}
template <typename T>
T Narrow(Sum<T> sum) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return T(static_cast<float>(sum));
  } else {
    return static_cast<T>(sum);
  }
}

struct MatrixStrides {
  int64_t row = 1, column = 1;
};
MatrixStrides StridesOf(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? MatrixStrides{1, rows} : MatrixStrides{columns, 1};
}

// Number of the matrix that batch `index` reads from an operand with these leading extents.
int64_t BroadcastIndex(int64_t index, const std::vector<int64_t>& batch,
                       const std::vector<int64_t>& own) {
  int64_t result = 0, stride = 1;
  for (size_t axis = batch.size(); axis-- > 0;) {
    if (own[axis] != 1) result += index % batch[axis] * stride;
    index /= batch[axis];
    stride *= own[axis];
  }
  return result;
}

// Input 2 may be wider than the other operands.
template <typename T>
std::vector<Sum<T>> BiasOf(const OpCall& call, absl::Span<const ConstTensorView> inputs) {
  if (!call.HasInput(2)) return {};
  if constexpr (std::is_same_v<Sum<T>, double>) {
    return ToDoubles(inputs[2]);
  } else {
    const absl::Span<const T> values = inputs[2].Values<T>();
    return {values.begin(), values.end()};
  }
}

// `bias` may be empty.
template <typename T>
void Multiply(const MatrixProduct& p, const T* a, const T* b, const std::vector<Sum<T>>& bias,
              T* y) {
  const MatrixStrides as = StridesOf(p.rows, p.inner, p.trans_a);
  const MatrixStrides bs = StridesOf(p.inner, p.columns, p.trans_b);
  for (int64_t m = 0; m < p.rows; ++m) {
    for (int64_t n = 0; n < p.columns; ++n) {
      Sum<T> sum = bias.empty() ? Sum<T>{0} : bias[static_cast<size_t>(n)];
      for (int64_t k = 0; k < p.inner; ++k) {
        sum += Widen(a[m * as.row + k * as.column]) * Widen(b[k * bs.row + n * bs.column]);
      }
      y[m * p.columns + n] = Narrow<T>(sum);
    }
  }
}

}  // namespace

namespace {

absl::Status QuantizedMatMul(const OpCall& call, const MatrixProduct& p,
                             absl::Span<const ConstTensorView> inputs,
                             absl::Span<const TensorView> outputs) {
  std::vector<double> a = ToDoubles(inputs[0]), b = ToDoubles(inputs[1]);
  CenterOperands(*call.node, a, b);
  const int64_t batches = Shape(p.batch).ElementCount();
  std::vector<double> sums(static_cast<size_t>(batches * p.rows * p.columns));
  for (int64_t i = 0; i < batches; ++i) {
    Multiply<double>(p, a.data() + BroadcastIndex(i, p.batch, p.a_batch) * p.rows * p.inner,
                     b.data() + BroadcastIndex(i, p.batch, p.b_batch) * p.inner * p.columns, {},
                     sums.data() + i * p.rows * p.columns);
  }
  // A vector B leaves no axis of columns.
  const int axis = p.b_is_vector() ? -1 : call.output().shape.rank() - 1;
  FinishQuantizedProduct(call, axis, sums, inputs, outputs[0]);
  return absl::OkStatus();
}

}  // namespace

absl::Status MatMulReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                             absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const MatrixProduct p, ResolveMatMul(call));
  if (IsQuantizedProduct(*call.node)) return QuantizedMatMul(call, p, inputs, outputs);
  const int64_t batches = Shape(p.batch).ElementCount();
  VisitDType(call.input(0).dtype, [&]<typename T>() {
    const std::vector<Sum<T>> bias = BiasOf<T>(call, inputs);
    for (int64_t i = 0; i < batches; ++i) {
      Multiply(
          p,
          inputs[0].Values<T>().data() + BroadcastIndex(i, p.batch, p.a_batch) * p.rows * p.inner,
          inputs[1].Values<T>().data() +
              BroadcastIndex(i, p.batch, p.b_batch) * p.inner * p.columns,
          bias, outputs[0].Values<T>().data() + i * p.rows * p.columns);
    }
  });
  return absl::OkStatus();
}

absl::Status GemmReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                           absl::Span<const TensorView> outputs) {
  const Attributes& attributes = call.node->attributes;
  const bool trans_a = attributes.Int("transA", 0) != 0;
  const bool trans_b = attributes.Int("transB", 0) != 0;
  const double alpha = attributes.Float("alpha", 1.0f), beta = attributes.Float("beta", 1.0f);
  const int64_t rows = call.output().shape[0], columns = call.output().shape[1];
  const int64_t inner = call.input(0).shape[trans_a ? 0 : 1];
  const std::vector<double> a = ToDoubles(inputs[0]), b = ToDoubles(inputs[1]);
  std::vector<double> c, y;
  int64_t c_row = 0, c_column = 0;
  if (call.HasInput(2)) {
    c = ToDoubles(inputs[2]);
    const Shape& shape = call.input(2).shape;
    if (shape.rank() >= 1 && shape.back() != 1) c_column = 1;
    if (shape.rank() == 2 && shape[0] != 1) c_row = shape[1];
  }
  const MatrixStrides as = StridesOf(rows, inner, trans_a);
  const MatrixStrides bs = StridesOf(inner, columns, trans_b);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += a[static_cast<size_t>(m * as.row + k * as.column)] *
               b[static_cast<size_t>(k * bs.row + n * bs.column)];
      }
      const double addend =
          c.empty() ? 0.0 : beta * c[static_cast<size_t>(m * c_row + n * c_column)];
      y.push_back(alpha * sum + addend);
    }
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

absl::Status BatchNormalizationReference(const OpCall& call,
                                         absl::Span<const ConstTensorView> inputs,
                                         absl::Span<const TensorView> outputs) {
  const Shape& shape = call.input(0).shape;
  const int axis = shape.rank() == 1 ? 0 : ChannelAxis(call.node->layout, shape.rank());
  const int64_t channels = call.input(1).shape[0];
  const int64_t inner = shape.Product(shape.rank() == 1 ? 1 : axis + 1, shape.rank());
  const double epsilon = call.node->attributes.Float("epsilon", 1e-5f);
  std::vector<double> y = ToDoubles(inputs[0]);
  const std::vector<double> scale = ToDoubles(inputs[1]), bias = ToDoubles(inputs[2]);
  std::vector<double> mean = ToDoubles(inputs[3]), variance = ToDoubles(inputs[4]);
  const auto channel = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
  };
  if (call.node->opset >= 14 && call.node->attributes.Int("training_mode", 0) != 0) {
    const double momentum = call.node->attributes.Float("momentum", 0.9f);
    const double count = static_cast<double>(y.size()) / static_cast<double>(channels);
    std::vector<double> own_mean(mean.size(), 0), own_variance(mean.size(), 0);
    for (size_t i = 0; i < y.size(); ++i) own_mean[channel(i)] += y[i] / count;
    for (size_t i = 0; i < y.size(); ++i) {
      const double distance = y[i] - own_mean[channel(i)];
      own_variance[channel(i)] += distance * distance / count;
    }
    for (size_t c = 0; c < mean.size(); ++c) {
      mean[c] = mean[c] * momentum + own_mean[c] * (1 - momentum);
      variance[c] = variance[c] * momentum + own_variance[c] * (1 - momentum);
    }
    if (outputs.size() > 1) FromDoubles(mean, outputs[1]);
    if (outputs.size() > 2) FromDoubles(variance, outputs[2]);
    mean = own_mean;
    variance = own_variance;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = channel(i);
    y[i] = (y[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

}  // namespace berth
