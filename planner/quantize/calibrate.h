// Runs the float model on samples and finds the range of every value that is to be stored.
#pragma once

#include <vector>

#include "planner/quantize/ranges.h"
#include "planner/quantize/run_graph.h"

namespace berth {

struct CalibrationOptions {
  RangeMethod method = RangeMethod::kMinMax;
  double percentile = 99.99;  // kPercentile: share of the values to cover, percent
};

// A range for each of `values` (float32, no constants), in their order. One run for each sample,
// two with kEntropy, whose histograms need the bounds first. InvalidArgument where an input or a
// value holds what is not finite, with the sample and the value.
absl::StatusOr<std::vector<ValueBounds>> Calibrate(const Graph& graph,
                                                   const std::vector<ValueId>& values,
                                                   const std::vector<Sample>& samples,
                                                   const CalibrationOptions& options,
                                                   const GraphRunner& runner);

// Every input has the type that the graph wants and is finite.
absl::Status CheckSamples(const Graph& graph, const std::vector<Sample>& samples);

}  // namespace berth
