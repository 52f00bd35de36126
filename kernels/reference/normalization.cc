// References of the normalizations.
#include <cmath>

#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/groups.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

ReducedAxes AxesFrom(int first, int rank) {
  ReducedAxes axes;
  for (int axis = 0; axis < rank; ++axis) axes.reduced.push_back(axis >= first);
  return axes;
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments MomentsOf(const std::vector<double>& x, const std::vector<size_t>& group) {
  const auto count = static_cast<double>(group.size());
  Moments moments;
  for (const size_t i : group) moments.mean += x[i] / count;
  for (const size_t i : group) {
    moments.variance += (x[i] - moments.mean) * (x[i] - moments.mean) / count;
  }
  return moments;
}

void Normalize(const ReducedAxes& axes, const Shape& shape, double epsilon,
               std::vector<double>& x) {
  for (const std::vector<size_t>& group : ReductionGroups(axes, shape)) {
    const Moments moments = MomentsOf(x, group);
    for (const size_t i : group) {
      x[i] = (x[i] - moments.mean) / std::sqrt(moments.variance + epsilon);
    }
  }
}

// x * scale[c] + bias[c], where `inner` elements share a channel of `channels` and `per_entry`
// channels share an entry of the lists.
void ScaleChannels(Inputs inputs, size_t channels, size_t inner, size_t per_entry,
                   std::vector<double>& x) {
  const std::vector<double> scale = ToDoubles(inputs[1]), bias = ToDoubles(inputs[2]);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t entry = i / inner % channels / per_entry;
    x[i] = x[i] * scale[entry] + bias[entry];
  }
}

}  // namespace

absl::Status LayerNormalizationReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, -1));
  const double epsilon = call.node->attributes.Float("epsilon", 1e-5f);
  const Shape& shape = inputs[0].type.shape;
  ReducedAxes axes = OneReducedAxis(axis, shape.rank(), true);
  for (size_t i = static_cast<size_t>(axis); i < axes.reduced.size(); ++i) axes.reduced[i] = true;
  std::vector<double> x = ToDoubles(inputs[0]), means, inverses;
  for (const std::vector<size_t>& group : ReductionGroups(axes, shape)) {
    const auto count = static_cast<double>(group.size());
    double sum = 0, squares = 0;
    for (const size_t i : group) sum += x[i];
    for (const size_t i : group) squares += (x[i] - sum / count) * (x[i] - sum / count);
    means.push_back(sum / count);
    inverses.push_back(1 / std::sqrt(squares / count + epsilon));
    for (const size_t i : group) x[i] = (x[i] - means.back()) * inverses.back();
  }
  const std::vector<double> scale = ToDoubles(inputs[1]);
  const std::vector<size_t> at_scale = BroadcastIndices(inputs[1].type.shape, shape);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= scale[at_scale[i]];
  if (call.HasInput(2)) {
    const std::vector<double> bias = ToDoubles(inputs[2]);
    const std::vector<size_t> at_bias = BroadcastIndices(inputs[2].type.shape, shape);
    for (size_t i = 0; i < x.size(); ++i) x[i] += bias[at_bias[i]];
  }
  FromDoubles(x, outputs[0]);
  if (outputs.size() > 1) FromDoubles(means, outputs[1]);
  if (outputs.size() > 2) FromDoubles(inverses, outputs[2]);
  return absl::OkStatus();
}

absl::Status InstanceNormalizationReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  std::vector<double> x = ToDoubles(inputs[0]);
  Normalize(AxesFrom(2, shape.rank()), shape, call.node->attributes.Float("epsilon", 1e-5f), x);
  ScaleChannels(inputs, static_cast<size_t>(shape[1]),
                static_cast<size_t>(shape.Product(2, shape.rank())), 1, x);
  FromDoubles(x, outputs[0]);
  return absl::OkStatus();
}

absl::Status GroupNormalizationReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  const int64_t groups = call.node->attributes.Int("num_groups", 1);
  const int64_t inner = shape.Product(2, shape.rank());
  std::vector<double> x = ToDoubles(inputs[0]);
  Normalize(AxesFrom(2, 3), Shape{shape[0], groups, shape[1] / groups * inner},
            call.node->attributes.Float("epsilon", 1e-5f), x);
  const int64_t per_entry = call.node->opset < 21 ? shape[1] / groups : 1;
  ScaleChannels(inputs, static_cast<size_t>(shape[1]), static_cast<size_t>(inner),
                static_cast<size_t>(per_entry), x);
  FromDoubles(x, outputs[0]);
  return absl::OkStatus();
}

absl::Status MeanVarianceNormalizationReference(const OpCall& call, Inputs inputs,
                                                Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  std::vector<int64_t> given = {0, 2, 3};
  if (call.node->attributes.Has("axes")) given = call.node->attributes.Ints("axes");
  ReducedAxes axes = AxesFrom(shape.rank(), shape.rank());
  for (const int64_t axis : given) {
    axes.reduced[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  std::vector<double> x = ToDoubles(inputs[0]);
  for (const std::vector<size_t>& group : ReductionGroups(axes, shape)) {
    const Moments moments = MomentsOf(x, group);
    for (const size_t i : group)
      x[i] = (x[i] - moments.mean) / (std::sqrt(moments.variance) + 1e-9);
  }
  FromDoubles(x, outputs[0]);
  return absl::OkStatus();
}

absl::Status LpNormalizationReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  BERTH_ASSIGN_OR_RETURN(const int axis, ResolveAxis(call, -1));
  const bool absolute = call.node->attributes.Int("p", 2) == 1;
  std::vector<double> x = ToDoubles(inputs[0]);
  for (const auto& group : ReductionGroups(OneReducedAxis(axis, shape.rank(), true), shape)) {
    double sum = 0;
    for (const size_t i : group) sum += absolute ? std::abs(x[i]) : x[i] * x[i];
    const double norm = absolute ? sum : std::sqrt(sum);
    for (const size_t i : group) x[i] = norm == 0 ? 0 : x[i] / norm;
  }
  FromDoubles(x, outputs[0]);
  return absl::OkStatus();
}

}  // namespace berth
