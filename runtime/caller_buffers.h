// What a caller binds against what a model has: counts, types, null, alignment, overlap.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace berth {

// InvalidArgument names the buffer, what was given and what is expected.
absl::Status CheckCounts(size_t inputs, size_t outputs, size_t expected_inputs,
                         size_t expected_outputs);
absl::Status CheckBuffer(std::string_view role, size_t index, const TensorInfo& info,
                         const TensorType& type, const std::byte* data);
// The bytes alone, for a type that is right.
absl::Status CheckBytes(std::string_view role, size_t index, std::string_view name,
                        const TensorType& type, const std::byte* data);
// An output of a dynamic model, whose shape is known after the run: all that can be told before.
absl::Status CheckOpenOutput(size_t index, const TensorInfo& info, const TensorView& view);
// Outputs share bytes neither with inputs nor with one another. Types are right.
absl::Status CheckOverlap(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs);

}  // namespace berth
