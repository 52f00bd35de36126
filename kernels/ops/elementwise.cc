#include "kernels/ops/elementwise.h"

namespace berth {

absl::StatusOr<Shape> BroadcastInputs(const OpCall& call) {
  Shape shape = call.input(0).shape;
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    BERTH_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, call.input(i).shape));
  }
  return shape;
}

std::vector<int> ElementwiseInPlace(const OpCall& call) {
  std::vector<int> inputs;
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    if (call.HasInput(i) && call.input(i).shape == call.output().shape &&
        DTypeBytes(call.input(i).dtype) == DTypeBytes(call.output().dtype)) {
      inputs.push_back(i);
    }
  }
  return inputs;
}

OpDef ElementwiseOp(OpKind kind, TypeRule infer_types, StepRule vector_steps) {
  OpDef def;
  def.kind = kind;
  def.infer_types = infer_types;
  def.in_place = ElementwiseInPlace;
  def.iteration_space = ElementwiseSpace;
  def.tile_cost = ElementwiseCost;
  def.lower = LowerElementwise;
  def.elementwise = true;
  def.vector_steps = vector_steps;
  return def;
}

}  // namespace berth
