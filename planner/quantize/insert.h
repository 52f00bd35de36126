// Writes the decisions into the graph: QuantizeLinear and DequantizeLinear behind every value that
// is stored, DequantizeLinear in front of weights and biases (the QDQ form of ONNX).
#pragma once

#include <string>
#include <vector>

#include "planner/quantize/scales.h"
#include "planner/quantize/selection.h"

namespace berth {

struct StoredValue {
  ValueId value = ValueId::kNone;   // in the float graph
  ValueId stored = ValueId::kNone;  // the integers, in the quantized graph
  TensorQuantization by;
};

struct ProductWeights {
  std::string node;
  size_t scale_count = 1;
  double sqnr_db = 0;
};

struct QdqGraph {
  Graph graph;
  std::vector<StoredValue> stored;      // no constants; in the order of the float graph's values
  std::vector<ProductWeights> weights;  // in the order of the nodes
};

// `scales` by group. Inputs and outputs keep their order, names and types.
absl::StatusOr<QdqGraph> InsertQdq(const Graph& graph, const Selection& selection,
                                   const std::vector<TensorQuantization>& scales, DType dtype);

}  // namespace berth
