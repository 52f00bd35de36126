// Rewrites ops that are compositions into the ops that lower themselves, by each op's expand rule,
// until none is left.
#pragma once

#include "kernels/graph.h"

namespace berth {

enum class ExpandScope : uint8_t {
  kQuantized,     // quantized operators that are float ops between DequantizeLinear, QuantizeLinear
  kPortable,      // what folds into weights, and forms that only old versions of an op have
  kBeforeLayout,  // leaves ops that expand better once their channels stand last
  kAll,
};

// Types are known, before and after. Identities that expansion makes are removed.
absl::Status ExpandOps(Graph& graph, ExpandScope scope);

}  // namespace berth
