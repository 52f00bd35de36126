// A model file of any format as a graph.
#pragma once

#include <string>

#include "planner/onnx/import.h"

namespace berth {

// By content (the identifier of a TFLite flatbuffer), else by ending, else as ONNX. Errors are
// those of ImportOnnx and ImportTflite.
absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options);

}  // namespace berth
