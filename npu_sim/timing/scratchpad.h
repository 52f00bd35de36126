// What the banks and ports of the scratchpad allow. Derivation: docs/machine.md, "Scratchpad".
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "npu_sim/config.h"

namespace berth::timing {

// One operand's traffic: moved_bytes spread evenly over the bytes [begin, end).
struct Stream {
  int64_t begin_bytes = 0, end_bytes = 0;
  int64_t moved_bytes = 0;
};

struct PortCycles {
  int64_t apart = 0;   // if no two streams met in a bank: the busiest bank of any one stream
  int64_t shared = 0;  // as placed: the busiest bank. >= apart
};

// At most 8 streams. Cost: O(streams^2); O(banks x streams) where banks are interleaved.
PortCycles CyclesOfPorts(absl::Span<const Stream> streams, const ScratchpadConfig& config);

}  // namespace berth::timing
