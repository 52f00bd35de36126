// ONNX model files as graphs.
//
// A graph comes back with its structure verified and the types of its inputs and constants known;
// those of other values are inferred by the passes, which check them against what the model
// declares. Memory is bounded by the sizes of the files read. Errors are one line: what, where,
// numbers; libraries' exceptions do not leave this module.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kernels/graph.h"

namespace berth {

// What becomes of a state that a TFLite model keeps between runs (a variable tensor).
enum class StateMode : uint8_t {
  kFresh,   // its initial value in every run
  kExpose,  // an input and an output "<name>/next", behind the model's own
  kKeep,    // the same, bound to each other (Graph::states)
};

struct ImportOptions {
  // Fixes the shape of an input by name; a dimension that the model fixes must agree. Other inputs
  // that share a named dimension follow.
  std::map<std::string, Shape> input_shapes;
  // The same by position among the inputs, for those that are not named above.
  std::vector<Shape> shapes_by_position;
  // Makes an input a constant: the graph has it no more.
  std::map<std::string, Tensor> constant_inputs;
  StateMode state_mode = StateMode::kFresh;
  // Inputs may keep dimensions (or a rank) that nothing fixes; their shapes are then not known.
  // Otherwise they are an error that lists them all.
  bool free_shapes = false;
  // Of a model in memory: the folder of its external data. Empty: it may have none.
  std::string data_folder;
};

// NotFound, InvalidArgument (the file, the model or the options are wrong) or Unimplemented (all
// unsupported ops named at once).
absl::StatusOr<Graph> ImportOnnx(const std::string& path, const ImportOptions& options);
// The bytes of such a file.
absl::StatusOr<Graph> ImportOnnxBytes(absl::Span<const std::byte> bytes,
                                      const ImportOptions& options);

}  // namespace berth
