// Element types. The numeric values are frozen: they stand in bundles.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kFloat64 = 4,
  kInt8 = 5,
  kUInt8 = 6,
  kInt16 = 7,
  kUInt16 = 8,
  kInt32 = 9,
  kUInt32 = 10,
  kInt64 = 11,
  kUInt64 = 12,
  kBool = 13,
};
inline constexpr int kDTypeCount = 14;

// Size of one element; 0 for kUndefined.
int64_t DTypeBytes(DType dtype);
// "float32", "int8", ... ; "undefined".
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
bool IsFloat(DType dtype);
bool IsInteger(DType dtype);  // signed or unsigned, not bool
bool IsSigned(DType dtype);   // floats and signed integers

// Calls visitor.template operator()<T>() with the C++ type that stores `dtype`; fp16 and bf16 are
// visited as Half and BFloat (base/half.h). Returns false for kUndefined.
template <typename Visitor>
bool VisitDType(DType dtype, Visitor&& visitor);

}  // namespace berth

#include "base/dtype_visit.h"  // IWYU pragma: export
