// The reference of every op, one for each line of op_list.inc: ConvReference, AddReference, ...
#pragma once

#include "kernels/reference/reference.h"

namespace berth {

#define BERTH_OP(name)                                                                       \
  absl::Status name##Reference(const OpCall& call, absl::Span<const ConstTensorView> inputs, \
                               absl::Span<const TensorView> outputs);
#include "kernels/op_list.inc"
#undef BERTH_OP

}  // namespace berth
