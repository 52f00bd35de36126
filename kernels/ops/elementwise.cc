#include "kernels/ops/elementwise.h"

#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

constexpr int kNoOperand = -1;

// Whether the result may be written over operand `i`.
bool MayTakeOver(const OpCall& call, const VectorSteps& steps, int i) {
  if (!steps.Reads(i) || call.input(i) != call.output()) return false;
  const std::vector<ValueId>& inputs = call.node->inputs;
  for (size_t j = 0; j < inputs.size(); ++j) {
    if (inputs[j] == inputs[static_cast<size_t>(i)] && !steps.MayOverwrite(static_cast<int>(j))) {
      return false;
    }
  }
  return true;
}

// The first operand, if any, whose freshly loaded tile can take the result.
int OverwrittenOperand(const OpCall& call, const VectorSteps& steps) {
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    if (MayTakeOver(call, steps, i)) return i;
  }
  return kNoOperand;
}

// One tile: loads what the steps read, computes, stores.
class ElementwiseTile {
 public:
  ElementwiseTile(const OpCall& call, const VectorSteps& steps, TileBuilder& builder)
      : call_(call),
        steps_(steps),
        builder_(builder),
        overwritten_(OverwrittenOperand(call, steps)) {}

  void Emit(const Box& box) {
    const absl::InlinedVector<TileView, 3> operands = LoadOperands(box);
    const ValueId result = call_.node->outputs[0];
    const TileView out = OutputTile(result, box, operands);
    EmitSteps(steps_, operands, out, builder_);
    builder_.Store(result, box, EmitTail(*call_.node, 0, box, out, builder_));
  }

 private:
  TileView OutputTile(ValueId result, const Box& box, absl::Span<const TileView> operands) {
    if (!call_.output_on_chip && overwritten_ != kNoOperand) {
      if (!builder_.IsResident(Input(overwritten_))) {
        return operands[static_cast<size_t>(overwritten_)];
      }
      for (int i = 0; i < static_cast<int>(operands.size()) && !TailReadsBytesOf(result); ++i) {
        const bool dies_here = builder_.StandInOnePlace(Input(i), result);
        if (dies_here && MayTakeOver(call_, steps_, i)) return operands[static_cast<size_t>(i)];
      }
    }
    return builder_.OutputTile(result, call_.output().dtype, box, "output");
  }

  bool TailReadsBytesOf(ValueId result) const {
    for (const FusedOp& fused : call_.node->tail) {
      for (const ValueId id : fused.operands) {
        if (id != ValueId::kNone && builder_.ShareBuffer(id, result)) return true;
      }
    }
    return false;
  }

  ValueId Input(int i) const { return call_.node->inputs[static_cast<size_t>(i)]; }

  absl::InlinedVector<TileView, 3> LoadOperands(const Box& box) {
    absl::InlinedVector<TileView, 3> operands(call_.inputs.size());
    for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
      if (!steps_.Reads(i)) continue;
      const int same = EarlierUse(i);
      operands[static_cast<size_t>(i)] =
          same >= 0 ? operands[static_cast<size_t>(same)] : LoadOperand(i, box);
    }
    return operands;
  }

  // An earlier operand that is the same value and was loaded.
  int EarlierUse(int i) const {
    for (int j = 0; j < i; ++j) {
      if (steps_.Reads(j) && Input(j) == Input(i)) return j;
    }
    return kNoOperand;
  }

  TileView LoadOperand(int i, const Box& box) {
    const Shape& shape = call_.input(i).shape;
    const Box needed = OperandBox(shape, box);
    // What changes with every tile is loaded afresh, so that the result may overwrite it.
    if (shape == call_.output().shape) return builder_.Load(Input(i), needed, "input");
    return builder_.LoadHeld(Input(i), needed, "operand").BroadcastTo(box.extent);
  }

  const OpCall& call_;
  const VectorSteps& steps_;
  TileBuilder& builder_;
  const int overwritten_;
};

absl::StatusOr<VectorSteps> StepsOf(const OpCall& call) {
  return GetOpDef(call.node->kind).vector_steps(UseOfNode(call));
}

}  // namespace

IterationSpace ElementwiseSpace(const OpCall& call) { return AxisLoops(call.output().shape); }

TileCost ElementwiseCost(const OpCall& call, const TileShape& tile) {
  const Extents extent(tile.begin(), tile.end());
  TileCost cost;
  cost.scratchpad_bytes = TailBytes(call, extent);
  const auto steps = StepsOf(call);
  if (!steps.ok()) return cost;  // the lowering tells why
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    if (!steps->Reads(i) || call.IsOnChip(i)) continue;
    cost.scratchpad_bytes += OperandTileBytes(call.input(i), extent);
  }
  const int overwritten = OverwrittenOperand(call, *steps);
  const bool in_place = overwritten != kNoOperand && !call.IsOnChip(overwritten);
  if (!in_place && !call.output_on_chip) {
    cost.scratchpad_bytes += TileBytes(call.output().dtype, extent);
  }
  return cost;
}

absl::Status LowerElementwise(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const VectorSteps steps, StepsOf(call));
  ElementwiseTile lowering(call, steps, builder);
  ForEachTile(call.output().shape.extents(), tile,
              [&](const Box& box) { lowering.Emit(InWhole(box, call.part)); });
  return builder.status();
}

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

std::optional<PartRead> ElementwisePart(const OpCall& call, int input, int axis,
                                        IndexRange outputs) {
  const Shape& shape = call.input(input).shape;
  const int own_axis = axis - (call.output().shape.rank() - shape.rank());
  if (own_axis != axis || shape[axis] == 1) return WholeRead(shape, axis);
  return PartRead{axis, outputs};
}

OpDef ElementwiseOp(OpKind kind, TypeRule infer_types, StepRule vector_steps) {
  OpDef def;
  def.kind = kind;
  def.infer_types = infer_types;
  def.in_place = ElementwiseInPlace;
  def.part = ElementwisePart;
  def.iteration_space = ElementwiseSpace;
  def.tile_cost = ElementwiseCost;
  def.lower = LowerElementwise;
  def.elementwise = true;
  def.vector_steps = vector_steps;
  return def;
}

}  // namespace berth
