// What Reshape and Identity share: the same elements in the same order under another shape. The
// planner makes them views; where it cannot, the elements are copied in flat runs through
// scratchpad.
#pragma once

#include "kernels/op_def.h"

namespace berth {

// A definition with the shared rules filled in; view kReshape.
OpDef FlatCopyOp(OpKind kind, TypeRule infer_types);

}  // namespace berth
