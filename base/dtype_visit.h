// The implementation of VisitDType: include base/dtype.h.
#pragma once

#include <cstdint>
#include <utility>

#include "base/dtype.h"
#include "base/half.h"

namespace berth {

template <typename Visitor>
bool VisitDType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kUndefined:
      return false;
    case DType::kFloat32:
      visitor.template operator()<float>();
      return true;
    case DType::kFloat16:
      visitor.template operator()<Half>();
      return true;
    case DType::kBFloat16:
      visitor.template operator()<BFloat>();
      return true;
    case DType::kFloat64:
      visitor.template operator()<double>();
      return true;
    case DType::kInt8:
      visitor.template operator()<int8_t>();
      return true;
    case DType::kUInt8:
      visitor.template operator()<uint8_t>();
      return true;
    case DType::kInt16:
      visitor.template operator()<int16_t>();
      return true;
    case DType::kUInt16:
      visitor.template operator()<uint16_t>();
      return true;
    case DType::kInt32:
      visitor.template operator()<int32_t>();
      return true;
    case DType::kUInt32:
      visitor.template operator()<uint32_t>();
      return true;
    case DType::kInt64:
      visitor.template operator()<int64_t>();
      return true;
    case DType::kUInt64:
      visitor.template operator()<uint64_t>();
      return true;
    case DType::kBool:
      visitor.template operator()<bool>();
      return true;
  }
  return false;
}

}  // namespace berth
