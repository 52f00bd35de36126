// What must hold of a model before anything is made from it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "kernels/graph.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// The version of each operator set that the model imports; the default domain is "".
using OpsetVersions = std::map<std::string, int, std::less<>>;
absl::StatusOr<OpsetVersions> ReadOpsets(const onnx::ModelProto& model);

// The kind of op that a node of the model is, or nothing when Berth does not have it.
std::optional<OpKind> KindOfNode(const onnx::NodeProto& node);

// Own checks, for every version: names, single assignment, topological order, duplicate
// declarations, values that are not tensors. InvalidArgument, or Unimplemented for what is legal
// but outside what Berth does.
absl::Status CheckStructure(const onnx::GraphProto& graph);

// The onnx library's checker, for models within its version (later ones: input counts only); its
// exceptions become InvalidArgument.
// What it rejects though it is harmless (a graph without a name, outputs without a shape) is made
// up for while it runs; the model is left as it was. External data is expected to have been
// confined before (it only tests existence).
absl::Status RunOnnxChecker(onnx::ModelProto& model, const OpsetVersions& opsets,
                            const std::filesystem::path& model_folder);

// One Unimplemented error that names every op that Berth lacks, with its count and one node each.
absl::Status CheckSupported(const onnx::ModelProto& model);

}  // namespace berth
