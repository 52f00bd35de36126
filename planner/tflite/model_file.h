// TFLite model files in memory.
//
// Layout of the file: a flatbuffer of schema.fbs with the identifier "TFL3" at bytes 4 to 8; data
// of large models may stand behind it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "schema_generated.h"

namespace berth {

struct TfliteFile {
  std::vector<std::byte> bytes;
  const tfl::Model* model = nullptr;  // in `bytes`; every table, vector and string is within them
};

// NotFound, or InvalidArgument that names the file.
absl::StatusOr<TfliteFile> ReadTfliteFile(const std::string& path);

// The flatbuffer's own structure; the bytes of the file stay as they are.
absl::StatusOr<const tfl::Model*> VerifyTfliteBytes(absl::Span<const std::byte> bytes);

}  // namespace berth
