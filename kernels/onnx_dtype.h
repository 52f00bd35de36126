// The numbers of element types in ONNX (TensorProto.DataType), as attributes such as Cast's "to"
// carry them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace berth {

// Empty for types that Berth does not have (strings, complex numbers, 8- and 4-bit floats).
std::optional<DType> DTypeFromOnnx(int64_t onnx_type);
int64_t DTypeToOnnx(DType dtype);

}  // namespace berth
