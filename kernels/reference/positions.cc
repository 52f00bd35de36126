// References of the ops that look at every element's position.
#include "kernels/ops/reduce_axes.h"
#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/groups.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

}  // namespace

absl::Status TriluReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const bool upper = call.node->attributes.Int("upper", 1) != 0;
  const int64_t k = call.HasInput(1) ? inputs[1].Values<int64_t>()[0] : 0;
  const Shape& shape = inputs[0].type.shape;
  const auto rank = static_cast<size_t>(shape.rank());
  std::memset(outputs[0].data, 0, static_cast<size_t>(outputs[0].type.ByteCount()));
  int64_t flat = 0;
  ForEachIndex(shape, [&](const Coordinates& index) {
    const int64_t diagonal = index[rank - 1] - index[rank - 2];
    if (upper ? diagonal >= k : diagonal <= k) CopyElement(inputs[0], flat, outputs[0], flat);
    ++flat;
  });
  return absl::OkStatus();
}

absl::Status EyeLikeReference(const OpCall& call, Inputs, Outputs outputs) {
  const int64_t k = call.node->attributes.Int("k", 0);
  std::vector<double> values;
  ForEachIndex(outputs[0].type.shape, [&](const Coordinates& index) {
    values.push_back(index[1] - index[0] == k ? 1 : 0);
  });
  FromDoubles(values, outputs[0]);
  return absl::OkStatus();
}

absl::Status OneHotReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = outputs[0].type.shape;
  const int64_t given = call.node->attributes.Int("axis", -1);
  const auto axis = static_cast<size_t>(given < 0 ? given + shape.rank() : given);
  const std::vector<double> indices = ToDoubles(inputs[0]);
  const int64_t depth = shape[static_cast<int>(axis)];
  int64_t flat = 0;
  ForEachIndex(shape, [&](const Coordinates& index) {
    Coordinates place = index;
    place.erase(place.begin() + static_cast<ptrdiff_t>(axis));
    auto wanted =
        static_cast<int64_t>(indices[static_cast<size_t>(FlatIndex(inputs[0].type.shape, place))]);
    if (wanted < 0) wanted += depth;
    CopyElement(inputs[2], wanted == index[axis] ? 1 : 0, outputs[0], flat++);
  });
  return absl::OkStatus();
}

absl::Status HardmaxReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  BERTH_ASSIGN_OR_RETURN(const ReducedAxes axes, SoftmaxAxes(call, shape));
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> result(x.size(), 0);
  for (const std::vector<size_t>& group : ReductionGroups(axes, shape)) {
    if (group.empty()) continue;
    size_t best = group[0];
    for (const size_t i : group) best = x[i] > x[best] ? i : best;
    result[best] = 1;
  }
  FromDoubles(result, outputs[0]);
  return absl::OkStatus();
}

absl::Status CumSumReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ToInt64Values(inputs[1]));
  const auto axis = static_cast<size_t>(given[0] < 0 ? given[0] + shape.rank() : given[0]);
  const bool exclusive = call.node->attributes.Int("exclusive", 0) != 0;
  const bool reverse = call.node->attributes.Int("reverse", 0) != 0;
  const auto term = [&](Coordinates index, int64_t place) {
    index[axis] = place;
    return static_cast<size_t>(FlatIndex(shape, index));
  };
  size_t flat = 0;
  VisitDType(inputs[0].type.dtype, [&]<typename T>() {
    const auto in = inputs[0].Values<T>();
    ForEachIndex(shape, [&](const Coordinates& index) {
      const int64_t at = index[axis], extent = shape[static_cast<int>(axis)];
      const int64_t begin = reverse ? at + (exclusive ? 1 : 0) : 0;
      const int64_t end = reverse ? extent : at + (exclusive ? 0 : 1);
      if constexpr (std::is_integral_v<T>) {
        uint64_t sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += static_cast<uint64_t>(in[term(index, i)]);
        outputs[0].Values<T>()[flat++] = static_cast<T>(sum);
      } else {
        double sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += ToArithmetic(in[term(index, i)]);
        outputs[0].Values<T>()[flat++] = FromArithmetic<T>(sum);
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace berth
