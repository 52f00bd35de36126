// References of the reductions, the positions of extrema and the softmaxes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/groups.h"
#include "kernels/reference/reference_list.h"

namespace berth {

absl::StatusOr<ReducedAxes> SoftmaxAxes(const OpCall& call, const Shape& shape) {
  const bool flattened = call.node->opset > 0 && call.node->opset < 13;
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, flattened ? 1 : -1));
  ReducedAxes axes = OneReducedAxis(axis, shape.rank(), true);
  for (size_t i = static_cast<size_t>(axis); flattened && i < axes.reduced.size(); ++i) {
    axes.reduced[i] = true;
  }
  return axes;
}

std::vector<std::vector<size_t>> ReductionGroups(const ReducedAxes& axes, const Shape& input) {
  ReducedAxes keeping = axes;
  keeping.keep_dims = true;
  const Shape kept = keeping.OutputShape(input);
  std::vector<std::vector<size_t>> groups(static_cast<size_t>(kept.ElementCount()));
  const std::vector<size_t> group_of = BroadcastIndices(kept, input);
  for (size_t i = 0; i < group_of.size(); ++i) groups[group_of[i]].push_back(i);
  return groups;
}

namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

template <typename T>
ArithmeticOf<T> SumOf(absl::Span<const T> in, const std::vector<size_t>& group) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;
    for (const size_t i : group) sum += static_cast<uint64_t>(in[i]);
    return static_cast<T>(sum);
  } else {
    double sum = 0;
    for (const size_t i : group) sum += ToArithmetic(in[i]);
    return sum;
  }
}

// The element that `beats` every one before it; `empty` of nothing.
template <typename T, typename Beats>
ArithmeticOf<T> BestOf(absl::Span<const T> in, const std::vector<size_t>& group, double empty,
                       Beats beats) {
  using Number = ArithmeticOf<T>;
  if (group.empty()) {
    if constexpr (std::is_integral_v<T>) {
      return empty < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    } else {
      return empty;
    }
  }
  Number best = ToArithmetic(in[group[0]]);
  for (const size_t i : group) {
    const Number value = ToArithmetic(in[i]);
    if (beats(value, best) || value != value) best = value;
  }
  return best;
}

template <typename Combine>
absl::Status Reduce(const OpCall& call, Inputs inputs, Outputs outputs, Combine combine) {
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, ResolveReducedAxes(call));
  const auto groups = ReductionGroups(axes, inputs[0].type.shape);
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    const auto out = outputs[0].Values<T>();
    for (size_t i = 0; i < groups.size(); ++i) {
      out[i] = FromArithmetic<T>(combine(inputs[0].Values<T>(), groups[i]));
    }
  });
  return absl::OkStatus();
}

// after(sum of term(x)), in double.
template <typename Term, typename After>
absl::Status OfTerms(const OpCall& call, Inputs inputs, Outputs outputs, Term term, After after) {
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, ResolveReducedAxes(call));
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> results;
  for (const std::vector<size_t>& group : ReductionGroups(axes, inputs[0].type.shape)) {
    double sum = 0;
    for (const size_t i : group) sum += term(x[i]);
    results.push_back(after(sum));
  }
  FromDoubles(results, outputs[0]);
  return absl::OkStatus();
}
template <typename Term>
absl::Status OfTerms(const OpCall& call, Inputs inputs, Outputs outputs, Term term) {
  return OfTerms(call, inputs, outputs, term, [](double sum) { return sum; });
}

template <typename Beats>
absl::Status Position(const OpCall& call, Inputs inputs, Outputs outputs, Beats beats) {
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, 0));
  const bool last = call.node->attributes.Int("select_last_index", 0) != 0;
  const Shape& shape = inputs[0].type.shape;
  const auto groups = ReductionGroups(OneReducedAxis(axis, shape.rank(), true), shape);
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    const auto in = inputs[0].Values<T>();
    for (size_t g = 0; g < groups.size(); ++g) {
      size_t best = 0;
      for (size_t i = 1; i < groups[g].size(); ++i) {
        const auto value = ToArithmetic(in[groups[g][i]]);
        const auto leader = ToArithmetic(in[groups[g][best]]);
        if (beats(value, leader) || (last && value == leader)) best = i;
      }
      outputs[0].Values<int64_t>()[g] = static_cast<int64_t>(best);
    }
  });
  return absl::OkStatus();
}

absl::Status Softmax(const OpCall& call, Inputs inputs, Outputs outputs, bool is_log) {
  const Shape& shape = inputs[0].type.shape;
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, SoftmaxAxes(call, shape));
  std::vector<double> x = ToDoubles(inputs[0]);
  for (const std::vector<size_t>& group : ReductionGroups(axes, shape)) {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const size_t i : group) maximum = std::max(maximum, x[i]);
    for (const size_t i : group) sum += std::exp(x[i] - maximum);
    for (const size_t i : group) {
      x[i] = is_log ? x[i] - maximum - std::log(sum) : std::exp(x[i] - maximum) / sum;
    }
  }
  FromDoubles(x, outputs[0]);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReduceSumReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Reduce(call, inputs, outputs, []<typename T>(absl::Span<const T> in, const auto& group) {
    return SumOf(in, group);
  });
}

absl::Status ReduceMeanReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Reduce(call, inputs, outputs, []<typename T>(absl::Span<const T> in, const auto& group) {
    const auto sum = SumOf(in, group);
    using Number = ArithmeticOf<T>;
    if (std::is_integral_v<T> && group.empty()) return Number{};
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<Number>(sum / static_cast<uint64_t>(group.size()));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<Number>(sum / static_cast<int64_t>(group.size()));
    } else {
      return sum / static_cast<double>(group.size());
    }
  });
}

absl::Status ReduceMaxReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Reduce(call, inputs, outputs, []<typename T>(absl::Span<const T> in, const auto& group) {
    return BestOf(in, group, -std::numeric_limits<double>::infinity(),
                  [](auto a, auto b) { return a > b; });
  });
}

absl::Status ReduceMinReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Reduce(call, inputs, outputs, []<typename T>(absl::Span<const T> in, const auto& group) {
    return BestOf(in, group, std::numeric_limits<double>::infinity(),
                  [](auto a, auto b) { return a < b; });
  });
}

absl::Status ReduceProdReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Reduce(call, inputs, outputs, []<typename T>(absl::Span<const T> in, const auto& group) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t product = 1;
      for (const size_t i : group) product *= static_cast<uint64_t>(in[i]);
      return static_cast<ArithmeticOf<T>>(product);
    } else {
      double product = 1;
      for (const size_t i : group) product *= ToArithmetic(in[i]);
      return product;
    }
  });
}

absl::Status ReduceL1Reference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return OfTerms(call, inputs, outputs, [](double x) { return std::abs(x); });
}

absl::Status ReduceSumSquareReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return OfTerms(call, inputs, outputs, [](double x) { return x * x; });
}

absl::Status ReduceL2Reference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return OfTerms(
      call, inputs, outputs, [](double x) { return x * x; },
      [](double sum) { return std::sqrt(sum); });
}

absl::Status ReduceLogSumReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return OfTerms(
      call, inputs, outputs, [](double x) { return x; }, [](double sum) { return std::log(sum); });
}

absl::Status ReduceLogSumExpReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return OfTerms(
      call, inputs, outputs, [](double x) { return std::exp(x); },
      [](double sum) { return std::log(sum); });
}

absl::Status ArgMaxReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Position(call, inputs, outputs, [](auto a, auto b) { return a > b; });
}

absl::Status ArgMinReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Position(call, inputs, outputs, [](auto a, auto b) { return a < b; });
}

absl::Status SoftmaxReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Softmax(call, inputs, outputs, false);
}

absl::Status LogSoftmaxReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Softmax(call, inputs, outputs, true);
}

}  // namespace berth
