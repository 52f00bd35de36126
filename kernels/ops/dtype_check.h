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

}  // namespace berth
