#include "kernels/onnx_dtype.h"

#include <iterator>

namespace berth {
namespace {

// Position = the number in ONNX.
constexpr DType kTypes[] = {
    DType::kUndefined, DType::kFloat32, DType::kUInt8,  DType::kInt8,      DType::kUInt16,
    DType::kInt16,     DType::kInt32,   DType::kInt64,  DType::kUndefined, DType::kBool,
    DType::kFloat16,   DType::kFloat64, DType::kUInt32, DType::kUInt64,    DType::kUndefined,
    DType::kUndefined, DType::kBFloat16};

}  // namespace

std::optional<DType> DTypeFromOnnx(int64_t onnx_type) {
  if (onnx_type < 0 || onnx_type >= static_cast<int64_t>(std::size(kTypes))) return std::nullopt;
  const DType dtype = kTypes[onnx_type];
  if (dtype == DType::kUndefined) return std::nullopt;
  return dtype;
}

int64_t DTypeToOnnx(DType dtype) {
  for (size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i] == dtype && dtype != DType::kUndefined) return static_cast<int64_t>(i);
  }
  return 0;
}

}  // namespace berth
