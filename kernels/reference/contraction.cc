// References of Einsum and of the losses.
#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/ops/einsum_equation.h"
#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// Integers wrap.
template <typename T>
T Times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// All labels, the result's first, with their extents.
std::pair<EinsumLabels, Shape> AllLabels(const EinsumEquation& equation, Inputs inputs) {
  EinsumLabels labels = equation.result;
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int axis = 0; axis < inputs[i].type.shape.rank(); ++axis) {
      const int label = equation.operands[i][static_cast<size_t>(axis)];
      extents[label] = std::max(extents[label], inputs[i].type.shape[axis]);
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
    }
  }
  std::vector<int64_t> shape;
  for (const int label : labels) shape.push_back(extents[label]);
  return {labels, Shape(std::move(shape))};
}

// Where an operand is read for a place in the space of all labels.
size_t PlaceIn(const Shape& shape, const EinsumLabels& own, const EinsumLabels& labels,
               const Coordinates& index) {
  Coordinates place;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto at = std::find(labels.begin(), labels.end(), own[static_cast<size_t>(axis)]);
    place.push_back(shape[axis] == 1 ? 0 : index[static_cast<size_t>(at - labels.begin())]);
  }
  return static_cast<size_t>(FlatIndex(shape, place));
}

}  // namespace

absl::Status EinsumReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  std::vector<Shape> shapes;
  for (const ConstTensorView& input : inputs) shapes.push_back(input.type.shape);
  BERTH_ASSIGN_OR_RETURN(const EinsumEquation equation,
                         ParseEinsum(call.node->attributes.String("equation", ""), shapes));
  const auto all = AllLabels(equation, inputs);
  const Shape& result = outputs[0].type.shape;
  VisitDType(outputs[0].type.dtype, [&]<typename T>() {
    std::vector<ArithmeticOf<T>> sums(static_cast<size_t>(result.ElementCount()), 0);
    ForEachIndex(all.second, [&](const Coordinates& index) {
      const Coordinates target(index.begin(), index.begin() + result.rank());
      ArithmeticOf<T> product = 1;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const size_t at = PlaceIn(shapes[i], equation.operands[i], all.first, index);
        product = Times(product, ToArithmetic(inputs[i].Values<T>()[at]));
      }
      auto& sum = sums[static_cast<size_t>(FlatIndex(result, target))];
      sum = Plus(sum, product);
    });
    for (size_t i = 0; i < sums.size(); ++i) {
      outputs[0].Values<T>()[i] = FromArithmetic<T>(sums[i]);
    }
  });
  return absl::OkStatus();
}

namespace {

// `x` is [batch, classes, inner] of log probabilities.
absl::Status Loss(const OpCall& call, Inputs inputs, const std::vector<double>& x,
                  const TensorView& out) {
  const Shape& shape = inputs[0].type.shape;
  const int64_t inner = shape.Product(2, shape.rank()), classes = shape[1];
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ToInt64Values(inputs[1]));
  const std::vector<double> weights = call.HasInput(2)
                                          ? ToDoubles(inputs[2])
                                          : std::vector<double>(static_cast<size_t>(classes), 1);
  const Attributes& attributes = call.node->attributes;
  std::vector<double> losses;
  double sum = 0, weight_sum = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool ignored =
        attributes.Has("ignore_index") && targets[i] == attributes.Int("ignore_index", 0);
    losses.push_back(0);
    if (ignored) continue;
    if (targets[i] < -classes || targets[i] >= classes) {
      return InvalidArgument("target {} of {} classes", targets[i], classes);
    }
    const int64_t of_class = targets[i] < 0 ? targets[i] + classes : targets[i];
    const int64_t n = static_cast<int64_t>(i) / inner, k = static_cast<int64_t>(i) % inner;
    const double weight = weights[static_cast<size_t>(of_class)];
    losses.back() = -weight * x[static_cast<size_t>((n * classes + of_class) * inner + k)];
    sum += losses.back();
    weight_sum += weight;
  }
  const std::string reduction = attributes.String("reduction", "mean");
  if (reduction == "none") {
    FromDoubles(losses, out);
  } else {
    FromDoubles({reduction == "sum" ? sum : sum / weight_sum}, out);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NegativeLogLikelihoodLossReference(const OpCall& call, Inputs inputs,
                                                Outputs outputs) {
  return Loss(call, inputs, ToDoubles(inputs[0]), outputs[0]);
}

absl::Status SoftmaxCrossEntropyLossReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  const auto inner = static_cast<size_t>(shape.Product(2, shape.rank()));
  const auto classes = static_cast<size_t>(shape[1]);
  std::vector<double> x = ToDoubles(inputs[0]);
  for (size_t line = 0; line < x.size() / std::max<size_t>(classes, 1); ++line) {
    double* const first = x.data() + line / inner * classes * inner + line % inner;
    double largest = -HUGE_VAL, sum = 0;
    for (size_t c = 0; c < classes; ++c) largest = std::fmax(largest, first[c * inner]);
    for (size_t c = 0; c < classes; ++c) sum += std::exp(first[c * inner] - largest);
    for (size_t c = 0; c < classes; ++c) first[c * inner] -= largest + std::log(sum);
  }
  if (outputs.size() > 1 && outputs[1].data != nullptr) FromDoubles(x, outputs[1]);
  return outputs[0].data == nullptr ? absl::OkStatus() : Loss(call, inputs, x, outputs[0]);
}

}  // namespace berth
