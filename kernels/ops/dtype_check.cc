#include "kernels/ops/dtype_check.h"

namespace berth {
namespace {

bool IsIn(DType dtype, DTypeClass dtype_class) {
  switch (dtype_class) {
    case DTypeClass::kAny:
      return true;
    case DTypeClass::kFloat:
      return IsFloat(dtype);
    case DTypeClass::kSigned:
      return IsSigned(dtype);
    case DTypeClass::kNumeric:
      return dtype != DType::kBool;
    case DTypeClass::kBool:
      return dtype == DType::kBool;
    case DTypeClass::kInteger:
      return IsInteger(dtype);
    case DTypeClass::kUnsigned:
      return IsInteger(dtype) && !IsSigned(dtype);
  }
  return false;
}

const char* ClassName(DTypeClass dtype_class) {
  switch (dtype_class) {
    case DTypeClass::kAny:
      return "any dtype";
    case DTypeClass::kFloat:
      return "a float dtype";
    case DTypeClass::kSigned:
      return "a signed dtype";
    case DTypeClass::kNumeric:
      return "a numeric dtype";
    case DTypeClass::kBool:
      return "bool";
    case DTypeClass::kInteger:
      return "an integer dtype";
    case DTypeClass::kUnsigned:
      return "an unsigned integer dtype";
  }
  return "";
}

}  // namespace

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

absl::Status CheckInput(const OpCall& call, int i, DTypeClass dtype_class) {
  if (!call.HasInput(i)) return InvalidArgument("input {} is missing", i);
  if (!IsIn(call.input(i).dtype, dtype_class)) {
    return InvalidArgument("input {} is {}, the operator takes {}", i,
                           DTypeName(call.input(i).dtype), ClassName(dtype_class));
  }
  return absl::OkStatus();
}

absl::Status CheckInputCount(const OpCall& call, int least, int most) {
  const int count = static_cast<int>(call.inputs.size());
  if (count < least || count > most) {
    return InvalidArgument("{} inputs, the operator takes {} to {}", count, least, most);
  }
  return absl::OkStatus();
}

}  // namespace berth
