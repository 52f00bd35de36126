// What the host engine can do for the ops: work that no unit of the NPU does.
#pragma once

#include <cstdint>

#include "npu_sim/units.h"

namespace berth {

// Positions in the table; they stand in bundles and are frozen.
enum class HostFunctionId : uint32_t {
  // in0 [outer, axis, inner] -> out (values) and in1 (int64 positions), each [outer, k, inner] and
  // each optional; of equals the first, NaN counts as larger than every number. values: outer,
  // axis, inner, k, 1 for the largest or 0 for the smallest.
  kTopK = 0,
};

HostFunctionTable KernelHostFunctions();

}  // namespace berth
