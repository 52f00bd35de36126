// The types of graph inputs and of declared values: what the model says, and what is pinned.
#pragma once

#include <string>

#include "base/status.h"
#include "kernels/graph.h"
#include "planner/onnx/import.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// Copies declared dtype and dimensions of `info` into `value` (`shape_known` stays false).
absl::Status Declare(const onnx::ValueInfoProto& info, Value& value);

// Error where `type` contradicts what `value` declares.
absl::Status CheckAgainstDeclared(const Value& value, const TensorType& type);

// Gives every graph input (ids in graph.inputs, declared) its type, from its declaration and the
// pinned shapes. Where none may stay free, lists all that are at once, with the option that pins
// them.
absl::Status ResolveInputs(const ImportOptions& options, Graph& graph);

}  // namespace berth
