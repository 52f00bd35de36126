// How far the quantized model is from the float one, value by value, over many samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/quantize/insert.h"
#include "planner/quantize/run_graph.h"

namespace berth {

// Sums over all elements of one value in all samples.
struct ErrorSums {
  int64_t count = 0;
  double signal = 0, noise = 0;  // sums of squares
  double absolute = 0, largest = 0, largest_signal = 0;

  void Add(double expected, double actual);
  // 10 log10 (signal / noise); infinite without noise.
  double SqnrDb() const;
  double MeanError() const { return count > 0 ? absolute / static_cast<double>(count) : 0; }
};

struct LayerAccuracy {
  std::string value, op, node;  // the float value, and what makes it ("" for an input)
  TensorQuantization by;
  DType dtype = DType::kInt8;
  float least = 0, most = 0;  // what the scale covers
  double clipped_share = 0;   // of the values that stand at either end of it
  ErrorSums errors;
};

struct OutputAccuracy {
  std::string name;
  ErrorSums errors;
  int64_t rows = 0, same_top = 0;  // along the last axis longer than one, where there are classes
};

struct AccuracyReport {
  int samples = 0;
  std::vector<LayerAccuracy> layers;  // as StoredValue
  std::vector<OutputAccuracy> outputs;
};

// Runs both models on every sample. The quantized one computes on integers, layer behind layer, so
// that errors add up as they will.
absl::StatusOr<AccuracyReport> MeasureAccuracy(const Graph& graph, const QdqGraph& quantized,
                                               const std::vector<Sample>& samples,
                                               const GraphRunner& runner);

}  // namespace berth
