// Which dtypes an operator takes: one check with one wording for all type rules.
#pragma once

#include "kernels/op_def.h"

namespace berth {

enum class DTypeClass : uint8_t {
  kAny,
  kFloat,
  kSigned,   // floats and signed integers
  kNumeric,  // all but bool
  kBool,
  kInteger,   // signed or not
  kUnsigned,  // integers without a sign
};

// float16 or bfloat16: storage at half size, arithmetic in float32.
bool IsHalf(DType dtype);

// InvalidArgument if input `i` is absent or its dtype is outside the class.
absl::Status CheckInput(const OpCall& call, int i, DTypeClass dtype_class);
// InvalidArgument unless between `least` and `most` inputs are given.
absl::Status CheckInputCount(const OpCall& call, int least, int most);

// The type rule of an op of one operand of the class, whose result is of the operand's type.
template <DTypeClass dtype_class>
absl::StatusOr<std::vector<TensorType>> SameType(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, dtype_class));
  return std::vector<TensorType>{call.input(0)};
}

}  // namespace berth
