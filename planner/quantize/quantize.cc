#include "planner/quantize/quantize.h"

#include <algorithm>
#include <map>
#include <set>

#include "planner/quantize/float_form.h"

namespace berth {
namespace {

// Of what the nodes read, each constant once.
int64_t ConstantBytes(const Graph& graph) {
  std::set<ValueId> seen;
  int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == ValueId::kNone || graph.at(id).constant == nullptr) continue;
      if (seen.insert(id).second) bytes += graph.at(id).type.ByteCount();
    }
  }
  return bytes;
}

// The activations to observe, and the range of each group: of all that are stored with its scale.
class RangeFinder {
 public:
  RangeFinder(const Graph& graph, const Selection& selection)
      : graph_(graph), selection_(selection) {}

  absl::StatusOr<std::vector<TensorQuantization>> Scales(const std::vector<Sample>& samples,
                                                         const QuantizeOptions& options) const {
    std::vector<ValueId> observed;
    std::vector<ValueBounds> groups(static_cast<size_t>(selection_.group_count));
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      if (!selection_.IsStored(id)) continue;
      if (const Tensor* constant = graph_.at(id).constant.get()) {
        GroupOf(groups, id).Add(constant->Values<float>());
      } else {
        observed.push_back(id);
      }
    }
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<ValueBounds> bounds,
        Calibrate(graph_, observed, samples, options.calibration, options.runner));
    for (size_t i = 0; i < observed.size(); ++i) GroupOf(groups, observed[i]).Widen(bounds[i]);
    std::vector<TensorQuantization> scales;
    for (const ValueBounds& group : groups) scales.push_back(ScaleOf(group, options.activations));
    return scales;
  }

 private:
  ValueBounds& GroupOf(std::vector<ValueBounds>& groups, ValueId id) const {
    return groups[static_cast<size_t>(selection_.group[Index(id)])];
  }

  const Graph& graph_;
  const Selection& selection_;
};

void CountOps(const Graph& graph, const Selection& selection, QuantizedModel& model) {
  std::map<std::string, int> in_float;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (selection.roles[n] == QuantizeRole::kFloat) {
      ++in_float[std::string(OpName(graph.nodes[n].kind))];
    } else {
      ++model.integer_ops;
    }
  }
  for (const auto& [op, count] : in_float) model.float_ops.push_back({op, count});
}

}  // namespace

absl::StatusOr<QuantizedModel> QuantizeModel(Graph graph, const std::vector<Sample>& calibration,
                                             const std::vector<Sample>& evaluation,
                                             const QuantizeOptions& options) {
  const auto stage = [&options](std::string_view name) {
    if (options.on_stage) options.on_stage(name);
  };
  stage("folding");
  BERTH_ASSIGN_OR_RETURN(const Graph form, ToFloatForm(std::move(graph), options.evaluator));
  BERTH_RETURN_IF_ERROR(CheckSamples(form, calibration));
  BERTH_RETURN_IF_ERROR(CheckSamples(form, evaluation));
  const Selection selection = SelectValues(form);
  stage("calibrating");
  BERTH_ASSIGN_OR_RETURN(const std::vector<TensorQuantization> scales,
                         RangeFinder(form, selection).Scales(calibration, options));
  QuantizedModel model;
  BERTH_ASSIGN_OR_RETURN(model.quantized, InsertQdq(form, selection, scales, options.activations));
  CountOps(form, selection, model);
  model.float_weight_bytes = ConstantBytes(form);
  model.quantized_weight_bytes = ConstantBytes(model.quantized.graph);
  stage("comparing");
  BERTH_ASSIGN_OR_RETURN(model.accuracy,
                         MeasureAccuracy(form, model.quantized, evaluation, options.runner));
  return model;
}

}  // namespace berth
