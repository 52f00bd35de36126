// The FlatBuffers section of a bundle as plain data.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Fills everything of `contents` but the raw segments. DataLoss names the table and index.
absl::Status ReadMetadata(absl::Span<const std::byte> bytes, BundleContents& contents);

}  // namespace berth
