// ONNX tensor messages as tensors.
//
// Invariant: no memory is taken for a tensor before its elements are known to be in the file in the
// number that its dimensions say, so that a short file cannot ask for a large allocation.
#pragma once

#include <filesystem>
#include <optional>

#include "base/tensor.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// The element type of an ONNX data type; Unimplemented (with its name) for strings, complex and
// others that Berth does not have, InvalidArgument for undefined ones.
absl::StatusOr<DType> ElementType(int data_type);

// Error messages name the tensor. `proto` is const: raw bytes are copied once.
absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       const std::filesystem::path& model_folder);

}  // namespace berth
