// Which operand of com.microsoft's quantized operators is what, and the float op inside them.
#pragma once

#include "kernels/op_def.h"

namespace berth {

struct QLinearOperands {
  OpKind inner = OpKind::kIdentity;
  std::vector<int> operands = {0};  // each followed by its scale and zero point
  int bias = -1;                    // int32, in steps of the product of both scales
  int y_scale = 3;                  // followed by the zero point
};
QLinearOperands OperandsOfQLinear(const OpCall& call);

// The float op as a node of its own.
struct InnerCall {
  Node node;
  std::vector<TensorType> types, outputs;
  std::vector<const Tensor*> constants;
  OpCall call;  // complete after Infer, while this stays where it is
  absl::StatusOr<std::vector<TensorType>> Infer();
};
absl::StatusOr<InnerCall> InnerCallOf(const OpCall& call);

}  // namespace berth
