// The FlatBuffers section of a bundle as plain data.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Fills everything of `contents` but the raw segments; `constants` are those of a dynamic model's
// graph. DataLoss names the table and index.
absl::Status ReadMetadata(absl::Span<const std::byte> bytes, absl::Span<const std::byte> constants,
                          BundleContents& contents);

}  // namespace berth
