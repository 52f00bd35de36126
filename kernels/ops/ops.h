// The accessor of every op's definition, one for each line of op_list.inc: ConvOp(), AddOp(), ...
// Each is defined in one file of kernels/ops/ around a function-local constant.
#pragma once

#include "kernels/op_def.h"

namespace berth {

#define BERTH_OP(name) const OpDef& name##Op();
#include "kernels/op_list.inc"
#undef BERTH_OP

}  // namespace berth
