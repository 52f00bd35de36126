// Graphs as ONNX models: the way back from import.h, for graphs that passes have rewritten.
//
// Types are known; nodes are ops of ONNX in the form that they have since opset ModernOpset
// (planner/onnx/modern_ops.h makes them so). What is no op of ONNX, or has attributes that only
// Berth knows, is an Internal error of the caller. Names stay where they are unique.
#pragma once

#include <string>

#include "kernels/graph.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

absl::StatusOr<onnx::ModelProto> ExportOnnx(const Graph& graph);

// The bytes of a model file. ResourceExhausted above the 2 GiB that a protocol buffer can have.
absl::StatusOr<std::string> SerializeModel(const onnx::ModelProto& model);

}  // namespace berth
