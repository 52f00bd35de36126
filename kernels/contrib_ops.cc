#include "kernels/contrib_ops.h"

namespace berth {

bool IsContribOp(OpKind kind) {
  switch (kind) {
    case OpKind::kQLinearAdd:
    case OpKind::kQLinearMul:
    case OpKind::kQLinearSigmoid:
    case OpKind::kQLinearLeakyRelu:
    case OpKind::kQLinearAveragePool:
    case OpKind::kQLinearGlobalAveragePool:
    case OpKind::kQLinearConcat:
    case OpKind::kQGemm:
      return true;
    default:
      return false;
  }
}

}  // namespace berth
