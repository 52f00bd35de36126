// The same run as an executor's, under the sanitizer: one command at a time, with names for
// messages from the bundle.
#pragma once

#include "npu_sim/sanitizer.h"
#include "runtime/bundle/bundle.h"
#include "runtime/executor/executor.h"

namespace berth {

// What RunSanitized (npu_sim/sanitizer.h) says of the bundle's program.
absl::Status RunSanitized(const Bundle& bundle, const MemoryMap& memory, const StopConditions& stop,
                          SanitizerReport& report);

}  // namespace berth
