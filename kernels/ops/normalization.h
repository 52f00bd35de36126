// What the normalizations share: (x - mean) / sqrt(variance + epsilon) over some axes.
#pragma once

#include <vector>

#include "kernels/rewrite.h"

namespace berth {

// Values of the rewritten node that take the statistics, kNone where nothing reads them.
struct NormalizationResults {
  ValueId mean = ValueId::kNone;
  ValueId inverse_deviation = ValueId::kNone;
};
// The variance is the mean of squared distances, which loses nothing where the mean is large. `x`
// is float32 or float64.
ValueId ApplyNormalization(GraphRewriter& rewrite, ValueId x, std::vector<int64_t> axes,
                           float epsilon, const NormalizationResults& results = {});

}  // namespace berth
