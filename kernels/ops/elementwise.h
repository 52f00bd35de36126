// What all elementwise ops share: their loops, their tile, and their lowering through the vector
// steps of their definition. Operands broadcast by NumPy's rule; only the box of an operand that a
// tile needs is loaded.
#pragma once

#include "kernels/op_def.h"

namespace berth {

// One loop per output axis, the outermost shrinks first so that boxes stay contiguous.
IterationSpace ElementwiseSpace(const OpCall& call);
TileCost ElementwiseCost(const OpCall& call, const TileShape& tile);
absl::Status LowerElementwise(const OpCall& call, const TileShape& tile, TileBuilder& builder);
// Operands of the output's shape and element width.
std::vector<int> ElementwiseInPlace(const OpCall& call);
// The same elements; all of them where the operand repeats or has axes of its own.
std::optional<PartRead> ElementwisePart(const OpCall& call, int input, int axis,
                                        IndexRange outputs);

// A definition with the shared rules filled in.
OpDef ElementwiseOp(OpKind kind, TypeRule infer_types, StepRule vector_steps);

// The broadcast shape of inputs [0, count of inputs).
absl::StatusOr<Shape> BroadcastInputs(const OpCall& call);

}  // namespace berth
