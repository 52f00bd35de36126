#include "tools/quantization_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/quantization.h"

namespace berth {
namespace {

bool KeepsValues(OpKind kind) {
  return kind == OpKind::kReshape || kind == OpKind::kFlatten || kind == OpKind::kSqueeze ||
         kind == OpKind::kUnsqueeze || kind == OpKind::kTranspose || kind == OpKind::kIdentity;
}

double StepOf(const Graph& graph, const std::vector<int>& producer, ValueId id) {
  if (IsInteger(graph.at(id).type.dtype)) return 1;
  for (int position = producer[Index(id)]; position >= 0; position = producer[Index(id)]) {
    const Node& node = graph.nodes[static_cast<size_t>(position)];
    if (node.kind == OpKind::kDequantizeLinear) {
      const NodeCall call(graph, node);
      const auto known = KnownTensorQuantization(call.call());
      return known ? known->scale : 0;
    }
    if (node.kind == OpKind::kAdd) {
      return std::max(StepOf(graph, producer, node.inputs[0]),
                      StepOf(graph, producer, node.inputs[1]));
    }
    if (!KeepsValues(node.kind)) return 0;
    id = node.inputs[0];
  }
  return 0;
}

bool IsVector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }) == 1;
}

// Ties count as the same: the expected place holds a value as large as the largest.
bool SameTop(const std::vector<float>& actual, const std::vector<float>& expected) {
  const auto top = std::max_element(expected.begin(), expected.end()) - expected.begin();
  return actual[static_cast<size_t>(top)] == *std::max_element(actual.begin(), actual.end());
}

}  // namespace

std::vector<double> OutputSteps(const Graph& graph) {
  const std::vector<int> producer = ComputeUses(graph).producer;
  std::vector<double> steps;
  for (const ValueId id : graph.outputs) steps.push_back(StepOf(graph, producer, id));
  return steps;
}

absl::StatusOr<StepDifference> CompareSteps(const ConstTensorView& actual,
                                            const ConstTensorView& expected, double step,
                                            const StepTolerance& tolerance) {
  if (actual.type != expected.type) {
    return InvalidArgument("{} where {} is expected", actual.type.ToString(),
                           expected.type.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> a, ToFloatValues(actual));
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> e, ToFloatValues(expected));
  StepDifference difference;
  if (e.empty()) return difference;
  constexpr double kRounding = 1e-3;  // of a step: values are multiples of it up to float rounding
  size_t within = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    double steps = a[i] == e[i] ? 0 : std::abs(double{a[i]} - double{e[i]}) / step;
    if (std::isnan(steps)) steps = std::numeric_limits<double>::infinity();
    difference.max_steps = std::max(difference.max_steps, steps);
    within += steps <= tolerance.steps + kRounding ? 1 : 0;
  }
  difference.share_within = static_cast<double>(within) / static_cast<double>(e.size());
  if (IsVector(expected.type.shape)) difference.same_top = SameTop(a, e);
  return difference;
}

}  // namespace berth
