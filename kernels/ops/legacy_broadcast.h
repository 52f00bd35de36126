// Broadcasting before opset 7: only the second operand, along `axis` if the attribute `broadcast`
// is set. Such a node expands into a Reshape of that operand and the modern form.
#pragma once

#include "kernels/op_def.h"

namespace berth {

class GraphRewriter;

// The shape under which operand 1 broadcasts by NumPy's rule: its own, or with ones added where the
// old rule aligns it differently. InvalidArgument where the old rule is broken.
absl::StatusOr<Shape> LegacyOperandShape(const OpCall& call);

// Whether operand 1 needs another shape (or the node another version).
bool IsLegacyBroadcast(const OpCall& call);
absl::Status ExpandLegacyBroadcast(const OpCall& call, GraphRewriter& rewrite);

}  // namespace berth
