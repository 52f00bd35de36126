#include "planner/quantize/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth {
namespace {

void CompareStored(const Tensor& expected, const Tensor& stored, LayerAccuracy& layer,
                   int64_t& clipped) {
  const IntegerRange range = RangeOfDType(layer.dtype);
  const absl::Span<const float> e = expected.Values<float>();
  VisitDType(layer.dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const absl::Span<const T> s = stored.Values<T>();
      for (size_t i = 0; i < e.size(); ++i) {
        const auto steps = static_cast<int32_t>(s[i]);
        layer.errors.Add(e[i], double{layer.by.scale} * (steps - layer.by.zero_point));
        const float beyond = e[i] < layer.least ? layer.least - e[i] : e[i] - layer.most;
        clipped += (steps == range.least || steps == range.most) && beyond > layer.by.scale / 2;
      }
    }
  });
}

size_t TopOf(absl::Span<const float> row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

// The extent of the last axis that is longer than one, of outputs that are no images.
size_t ClassCount(const Shape& shape) {
  std::vector<int64_t> extents = shape.extents();
  while (!extents.empty() && extents.back() == 1) extents.pop_back();
  constexpr size_t kMostAxes = 3;
  if (extents.empty() || extents.size() > kMostAxes) return 1;
  return static_cast<size_t>(extents.back());
}

absl::Status CompareOutput(const Tensor& expected, const Tensor& actual, OutputAccuracy& output) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> e, ToFloatValues(expected.view()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> a, ToFloatValues(actual.view()));
  for (size_t i = 0; i < e.size(); ++i) output.errors.Add(e[i], a[i]);
  const size_t length = ClassCount(expected.shape());
  if (length < 2) return absl::OkStatus();
  for (size_t begin = 0; begin + length <= e.size(); begin += length) {
    ++output.rows;
    output.same_top += TopOf(absl::MakeSpan(e).subspan(begin, length)) ==
                       TopOf(absl::MakeSpan(a).subspan(begin, length));
  }
  return absl::OkStatus();
}

AccuracyReport EmptyReport(const Graph& graph, const QdqGraph& quantized, int samples) {
  const GraphUses uses = ComputeUses(graph);
  AccuracyReport report;
  report.samples = samples;
  for (const StoredValue& stored : quantized.stored) {
    LayerAccuracy layer;
    layer.value = graph.at(stored.value).name;
    if (const int maker = uses.producer[Index(stored.value)]; maker >= 0) {
      layer.op = OpName(graph.nodes[static_cast<size_t>(maker)].kind);
      layer.node = graph.nodes[static_cast<size_t>(maker)].name;
    }
    layer.by = stored.by;
    layer.dtype = quantized.graph.at(stored.stored).type.dtype;
    const IntegerRange range = RangeOfDType(layer.dtype);
    layer.least = static_cast<float>(range.least - stored.by.zero_point) * stored.by.scale;
    layer.most = static_cast<float>(range.most - stored.by.zero_point) * stored.by.scale;
    report.layers.push_back(std::move(layer));
  }
  for (const ValueId id : graph.outputs) report.outputs.push_back({.name = graph.at(id).name});
  return report;
}

// The graph's own outputs, and behind them what is observed.
Graph Observed(const Graph& graph, const std::vector<StoredValue>& stored, bool integers) {
  Graph observed = graph;
  for (const StoredValue& value : stored) {
    observed.outputs.push_back(integers ? value.stored : value.value);
  }
  return observed;
}

}  // namespace

void ErrorSums::Add(double expected, double actual) {
  double error = std::abs(actual - expected);
  if (std::isnan(error)) error = expected == actual ? 0 : std::numeric_limits<double>::infinity();
  ++count;
  signal += expected * expected;
  noise += error * error;
  absolute += error;
  largest = std::max(largest, error);
  largest_signal = std::max(largest_signal, std::abs(expected));
}

double ErrorSums::SqnrDb() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

absl::StatusOr<AccuracyReport> MeasureAccuracy(const Graph& graph, const QdqGraph& quantized,
                                               const std::vector<Sample>& samples,
                                               const GraphRunner& runner) {
  BERTH_ASSIGN_OR_RETURN(const GraphRun run_float,
                         runner(Observed(graph, quantized.stored, false)));
  BERTH_ASSIGN_OR_RETURN(const GraphRun run_quantized,
                         runner(Observed(quantized.graph, quantized.stored, true)));
  AccuracyReport report = EmptyReport(graph, quantized, static_cast<int>(samples.size()));
  std::vector<int64_t> clipped(report.layers.size());
  for (const Sample& sample : samples) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, run_float(sample.inputs));
    BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, run_quantized(sample.inputs));
    const size_t outputs = report.outputs.size();
    for (size_t i = 0; i < outputs; ++i) {
      BERTH_RETURN_IF_ERROR(CompareOutput(expected[i], actual[i], report.outputs[i]));
    }
    for (size_t i = 0; i < report.layers.size(); ++i) {
      CompareStored(expected[outputs + i], actual[outputs + i], report.layers[i], clipped[i]);
    }
  }
  for (size_t i = 0; i < report.layers.size(); ++i) {
    LayerAccuracy& layer = report.layers[i];
    const auto count = static_cast<double>(std::max<int64_t>(1, layer.errors.count));
    layer.clipped_share = static_cast<double>(clipped[i]) / count;
  }
  return report;
}

}  // namespace berth
