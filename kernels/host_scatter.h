// A scatter of rows on the host engine (HostFunctionId::kScatterRows).
// Cost: O(bytes of the data and of the updates).
#pragma once

#include "npu_sim/units.h"

namespace berth {

// What happens where a row is written: values of HostParams, frozen.
enum class ScatterReduction : int64_t {
  kReplace = 0,
  kAdd = 1,
  kMultiply = 2,
  kMax = 3,
  kMin = 4,
};

// InvalidArgument where the parameters do not agree with the operands' sizes or a row number is
// outside [-rows, rows).
absl::Status HostScatterRows(const HostCall& call);

}  // namespace berth
