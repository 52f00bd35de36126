// A model file of any format as a graph.
#pragma once

#include <cstddef>
#include <string>

#include "absl/types/span.h"
#include "planner/onnx/import.h"

namespace berth {

// Told by content (the identifier of a flatbuffer), else by ending.
bool IsTfliteFile(const std::string& path);

// Whatever is no TFLite file counts as ONNX. Errors are those of ImportOnnx and ImportTflite.
absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options);
// The bytes of such a file, told by content alone.
absl::StatusOr<Graph> ImportModelBytes(absl::Span<const std::byte> bytes,
                                       const ImportOptions& options);

}  // namespace berth
