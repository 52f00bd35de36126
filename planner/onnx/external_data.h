// Tensor bytes that a model keeps in a file beside it.
//
// Invariant: nothing outside the model's folder is opened. A location is relative, without "..",
// and what it resolves to through symbolic links lies inside the folder. Without a folder (empty)
// nothing is opened at all.
#pragma once

#include <filesystem>

#include "base/tensor.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// Fills `tensor` from the external file of `proto`; the range must lie in the file and its length
// be the tensor's. Messages do not name the tensor: the caller adds it.
absl::Status ReadExternalData(const onnx::TensorProto& proto,
                              const std::filesystem::path& model_folder, Tensor& tensor);

// The range without reading it, so that sizes are known to be there before memory is taken.
struct ExternalRange {
  std::filesystem::path file;
  int64_t offset_bytes = 0;
};
absl::StatusOr<ExternalRange> LocateExternalData(const onnx::TensorProto& proto,
                                                 const std::filesystem::path& model_folder,
                                                 int64_t size_bytes);

}  // namespace berth
