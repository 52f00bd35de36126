// What elementwise ops of two operands share: one dtype for both, NumPy broadcasting, and the older
// broadcasting of the operator sets before 7 (legacy_broadcast.h).
#pragma once

#include "kernels/op_def.h"
#include "kernels/ops/dtype_check.h"

namespace berth {

// InvalidArgument unless all operands have the dtype of the first.
absl::Status CheckSameDType(const OpCall& call);
// The shape that both operands broadcast to.
absl::StatusOr<Shape> PairShape(const OpCall& call);
// Two operands of the class and of one dtype; the result has `result`, or their dtype.
absl::StatusOr<std::vector<TensorType>> PairTypes(const OpCall& call, DTypeClass dtype_class,
                                                  DType result = DType::kUndefined);

// An elementwise definition with both kinds of broadcasting.
OpDef PairOp(OpKind kind, TypeRule infer_types, StepRule vector_steps);

}  // namespace berth
