// TFLite model files as graphs.
//
// The first subgraph is the model. Shapes are those that the file states for the inputs (other
// tensors' are inferred: files keep stale ones), except where an input has a free dimension and the
// user pins it. A graph comes back verified, typed, with inputs and outputs in the file's order
// under their tensors' names. Memory is bounded by the size of the file.
//
// docs/tflite.md says what each operator becomes.
#pragma once

#include <cstddef>
#include <string>

#include "absl/types/span.h"
#include "kernels/graph.h"
#include "planner/onnx/import.h"

namespace berth {

// NotFound, InvalidArgument (the file, the model or the options are wrong) or Unimplemented (all
// unsupported ops named at once).
absl::StatusOr<Graph> ImportTflite(const std::string& path, const ImportOptions& options);
// The bytes of such a file, which are copied.
absl::StatusOr<Graph> ImportTfliteBytes(absl::Span<const std::byte> bytes,
                                        const ImportOptions& options);

}  // namespace berth
