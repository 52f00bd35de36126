#include "kernels/op_def.h"

#include "kernels/control_flow.h"
#include "kernels/ops/ops.h"

namespace berth {
namespace {

using Accessor = const OpDef& (*)();
constexpr Accessor kAccessors[] = {
#define BERTH_OP(name) &name##Op,
#include "kernels/op_list.inc"
#undef BERTH_OP
};

}  // namespace

const OpDef& GetOpDef(OpKind kind) {
  return IsControlFlow(kind) ? ControlFlowDef(kind) : kAccessors[static_cast<size_t>(kind)]();
}

PartRead WholeRead(const Shape& input, int axis) {
  return {axis, {0, axis < input.rank() ? input[axis] : 1}};
}

}  // namespace berth
