// A trace of a dynamic pool: what was allocated and freed, in order, as CSV:
//
//     op,id,size_bytes,alignment
//     alloc,0,4096,64
//     free,0,,
//
// `id` names an allocation from its `alloc` to its `free`, and may come again after that. An empty
// alignment is 64; what a `free` says after its id does not count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace berth {

struct PoolEvent {
  enum class Kind : uint8_t { kAllocate, kFree };
  Kind kind = Kind::kAllocate;
  int64_t id = 0;
  int64_t size_bytes = 0;  // the two below: of an allocation
  int64_t alignment = 64;
};

// InvalidArgument with the line: another first line, unknown ops, numbers that are none, sizes that
// are negative, alignments that are no power of two, ids that are freed or allocated twice.
absl::StatusOr<std::vector<PoolEvent>> ParsePoolTrace(std::string_view csv);
std::string FormatPoolTrace(const std::vector<PoolEvent>& trace);

struct TensorTraceOptions {
  uint64_t seed = 1;
  int inferences = 200;
  int ops = 150;  // an inference; each makes one tensor
  int batch_max = 8;
  int64_t smallest_bytes = 4096;
  int64_t largest_bytes = 16 * 1024 * 1024;
};

// What a network's tensors look like to a pool: each op's tensor has a size of its own, the same in
// every inference but for the batch (1 to batch_max, drawn for each inference); most die with the
// next op, some a few ops later, a few live long (skip connections); nothing outlives its
// inference. The same for the same options, on any machine.
std::vector<PoolEvent> MakeTensorTrace(const TensorTraceOptions& options);

}  // namespace berth
