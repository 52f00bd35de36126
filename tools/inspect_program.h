// The program of a bundle as text that `berth simulate` reads (npu_sim/program_text.h), the names
// of its ops and buffers beside it as comments.
#pragma once

#include <string>

#include "tools/inspect_plan.h"

namespace berth {

std::string ProgramText(const InspectedPlan& plan);

}  // namespace berth
