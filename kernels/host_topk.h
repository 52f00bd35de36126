// TopK on the host engine (HostFunctionId::kTopK).
// Cost: O(lines * axis * log k).
#pragma once

#include "npu_sim/units.h"

namespace berth {

// InvalidArgument where the parameters do not agree with the operands' sizes.
absl::Status HostTopK(const HostCall& call);

}  // namespace berth
