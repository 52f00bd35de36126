// Post-training quantization: a float model and samples in, a model in QDQ form and its accuracy
// out. quantize.cc lists the stages in order. Deterministic: the same samples give the same model.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/fold/evaluator.h"
#include "planner/quantize/accuracy.h"
#include "planner/quantize/calibrate.h"

namespace berth {

struct QuantizeOptions {
  CalibrationOptions calibration;
  DType activations = DType::kInt8;  // or kUInt8
  ConstantEvaluator evaluator;       // folds constants
  GraphRunner runner;
  // Called before each stage with its name.
  std::function<void(std::string_view stage)> on_stage;
};

// Ops of the float form that compute in float, by name, with how many there are.
struct FloatOps {
  std::string op;
  int count = 0;
};

struct QuantizedModel {
  QdqGraph quantized;
  AccuracyReport accuracy;
  std::vector<FloatOps> float_ops;  // sorted by name
  int integer_ops = 0;
  int64_t float_weight_bytes = 0, quantized_weight_bytes = 0;  // constants of both graphs
};

// `graph` is as imported. `evaluation` samples measure the accuracy.
absl::StatusOr<QuantizedModel> QuantizeModel(Graph graph, const std::vector<Sample>& calibration,
                                             const std::vector<Sample>& evaluation,
                                             const QuantizeOptions& options);

}  // namespace berth
