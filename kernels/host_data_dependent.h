// Host functions of the ops whose result's shape hangs on the values: NonZero, NonMaxSuppression,
// Unique. The shape was computed when the command was made; data that give another one fail the
// run.
#pragma once

#include "npu_sim/units.h"

namespace berth {

// Extents of at most 8 axes, each below 2^31, in 4 parameters.
void PackExtents(absl::Span<const int64_t> extents, int64_t* values);

absl::Status HostNonZero(const HostCall& call);
absl::Status HostNonMaxSuppression(const HostCall& call);
absl::Status HostUnique(const HostCall& call);

}  // namespace berth
