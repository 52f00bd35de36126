// What must hold of a TFLite model before anything is made from it.
#pragma once

#include <string>

#include "base/status.h"
#include "planner/tflite/model_file.h"

namespace berth {

// The operator's number: files written before there were more than 127 keep it in one byte.
tfl::BuiltinOperator OperatorOf(const tfl::OperatorCode& code);
// "CONV_2D", "CUSTOM:name" or "BUILTIN_200".
std::string OperatorName(const tfl::OperatorCode& code);

// Version and subgraphs (of several the first is the model); then one Unimplemented error that
// names every operator that Berth lacks, with its count and the first; then the structure: indices
// of tensors, buffers and operators in range, shapes not negative, quantization arrays of one
// length, single assignment, topological order.
absl::Status CheckTfliteModel(const TfliteFile& file);

// Whether a RESHAPE takes its shape from a computed tensor, in a checked model: TFLite then keeps
// the graph from delegates that want static shapes.
bool HasRunTimeShapes(const TfliteFile& file);

}  // namespace berth
