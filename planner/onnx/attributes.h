// ONNX attribute messages as Attributes, with their types checked against the operator's schema.
#pragma once

#include <filesystem>

#include "kernels/graph.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// InvalidArgument for an attribute that stands twice or has not the type that the operator gives
// it; Unimplemented for graphs, sparse tensors and the like. Messages name the attribute; the
// caller adds the node.
absl::StatusOr<Attributes> AttributesFromProto(const onnx::NodeProto& node,
                                               const std::filesystem::path& model_folder);

}  // namespace berth
