#include "kernels/op_def.h"

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

const OpDef& GetOpDef(OpKind kind) { return kAccessors[static_cast<size_t>(kind)](); }

}  // namespace berth
