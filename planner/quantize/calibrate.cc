#include "planner/quantize/calibrate.h"

#include <cmath>
#include <functional>

namespace berth {
namespace {

using Observer = std::function<absl::Status(size_t value, absl::Span<const float> numbers)>;

// The graph with these values as its outputs, run on every sample.
absl::Status Observe(const Graph& graph, const std::vector<ValueId>& values,
                     const std::vector<Sample>& samples, const GraphRun& run,
                     const Observer& observer) {
  for (const Sample& sample : samples) {
    auto results = run(sample.inputs);
    if (!results.ok()) return Annotate(results.status(), sample.name);
    for (size_t v = 0; v < values.size(); ++v) {
      if (absl::Status status = observer(v, (*results)[v].Values<float>()); !status.ok()) {
        return Annotate(status,
                        fmt::format("{}: value '{}'", sample.name, graph.at(values[v]).name));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status FiniteOrError(int64_t odd, size_t count) {
  if (odd == 0) return absl::OkStatus();
  return InvalidArgument("{} of {} numbers are not finite", odd, count);
}

}  // namespace

absl::Status CheckSamples(const Graph& graph, const std::vector<Sample>& samples) {
  if (samples.empty()) return InvalidArgument("no samples to calibrate with");
  for (const Sample& sample : samples) {
    if (sample.inputs.size() != graph.inputs.size()) {
      return InvalidArgument("{}: {} inputs, the model has {}", sample.name, sample.inputs.size(),
                             graph.inputs.size());
    }
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Value& value = graph.at(graph.inputs[i]);
      const Tensor& tensor = sample.inputs[i];
      if (tensor.type() != value.type) {
        return InvalidArgument("{}: input {} ('{}') is {}, {} expected", sample.name, i, value.name,
                               tensor.type().ToString(), value.type.ToString());
      }
      if (tensor.dtype() != DType::kFloat32) continue;
      const absl::Span<const float> numbers = tensor.Values<float>();
      ValueBounds bounds;
      if (absl::Status status = FiniteOrError(bounds.Add(numbers), numbers.size()); !status.ok()) {
        return Annotate(status, fmt::format("{}: input {} ('{}')", sample.name, i, value.name));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValueBounds>> Calibrate(const Graph& graph,
                                                   const std::vector<ValueId>& values,
                                                   const std::vector<Sample>& samples,
                                                   const CalibrationOptions& options,
                                                   const GraphRunner& runner) {
  Graph observed = graph;
  observed.outputs = values;
  BERTH_ASSIGN_OR_RETURN(const GraphRun run, runner(observed));
  std::vector<ValueBounds> bounds(values.size());
  std::vector<QuantileCounter> quantiles(options.method == RangeMethod::kPercentile ? values.size()
                                                                                    : 0);
  const auto widen = [&](size_t v, absl::Span<const float> numbers) {
    if (!quantiles.empty()) quantiles[v].Add(numbers);
    return FiniteOrError(bounds[v].Add(numbers), numbers.size());
  };
  BERTH_RETURN_IF_ERROR(Observe(graph, values, samples, run, widen));
  for (size_t v = 0; v < quantiles.size(); ++v) {
    bounds[v] = PercentileRange(quantiles[v], options.percentile);
  }
  if (options.method != RangeMethod::kEntropy) return bounds;
  std::vector<MagnitudeHistogram> histograms;
  for (const ValueBounds& b : bounds) {
    histograms.emplace_back(b.empty() ? 0.0f : std::max(std::abs(b.least), std::abs(b.most)));
  }
  const auto count = [&](size_t v, absl::Span<const float> numbers) {
    histograms[v].Add(numbers);
    return absl::OkStatus();
  };
  BERTH_RETURN_IF_ERROR(Observe(graph, values, samples, run, count));
  for (size_t v = 0; v < values.size(); ++v) bounds[v] = EntropyRange(histograms[v], bounds[v]);
  return bounds;
}

}  // namespace berth
