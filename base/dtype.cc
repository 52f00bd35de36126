#include "base/dtype.h"

#include <array>

namespace berth {
namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{{"undefined", 0},
                                                       {"float32", 4},
                                                       {"float16", 2},
                                                       {"bfloat16", 2},
                                                       {"float64", 8},
                                                       {"int8", 1},
                                                       {"uint8", 1},
                                                       {"int16", 2},
                                                       {"uint16", 2},
                                                       {"int32", 4},
                                                       {"uint32", 4},
                                                       {"int64", 8},
                                                       {"uint64", 8},
                                                       {"bool", 1}}};

// Bundles may hold any byte here: an unknown value reads as undefined.
const DTypeInfo& Info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kInfo[index < kInfo.size() ? index : 0];
}

}  // namespace

int64_t DTypeBytes(DType dtype) { return Info(dtype).bytes; }
std::string_view DTypeName(DType dtype) { return Info(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 1; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kFloat64;
}
bool IsInteger(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUInt64; }
bool IsSigned(DType dtype) {
  return IsFloat(dtype) || dtype == DType::kInt8 || dtype == DType::kInt16 ||
         dtype == DType::kInt32 || dtype == DType::kInt64;
}

}  // namespace berth
