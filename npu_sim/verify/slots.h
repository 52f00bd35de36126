// Rule 3: the table of slots on its own.
#pragma once

#include "base/status.h"
#include "npu_sim/program.h"

namespace berth::verify {

// Every slot lies inside its space, lives for at least one command, and shares no byte with another
// slot that is live at the same time. Cost: O(slots log slots).
absl::Status CheckSlots(const ProgramView& program);

}  // namespace berth::verify
