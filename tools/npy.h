// NumPy .npy files (format 1.0 to 3.0), dense and little endian.
// Source: numpy/lib/format.py, the format's specification.
#pragma once

#include <string>

#include "base/tensor.h"

namespace berth {

// Errors name the file: NotFound, or InvalidArgument for what is not such a file (the header's
// shape is checked against the file's length before anything is allocated).
absl::StatusOr<Tensor> ReadNpy(const std::string& path);

// Written under a temporary name, then renamed. bfloat16 is written as its 16 bits (uint16).
absl::Status WriteNpy(const std::string& path, const ConstTensorView& tensor);

}  // namespace berth
