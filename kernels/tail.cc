#include "kernels/tail.h"

#include "kernels/vector_steps.h"

namespace berth {
namespace {

// The flowing tile as the op reads it.
TileView ReadFlow(const FusedOp& fused, const TileView& tile, TileBuilder& builder) {
  const auto scale = ReadScaleOf(fused.attributes, static_cast<size_t>(fused.flow_position));
  if (!scale) return tile;
  const TileView flow = builder.NewTile(DType::kFloat32, tile.extent, "tail flow");
  builder.Rescale(Opcode::kDequantize, flow, tile, scale->scale, scale->zero_point);
  return flow;
}

// Whether the last op of a tail writes straight to where the result is resident: over operands at
// most that it may overwrite.
bool GoesToItsPlace(const FusedOp& fused, ValueId result, const VectorSteps& steps,
                    const TileBuilder& builder) {
  if (result == ValueId::kNone || !builder.IsResident(result) ||
      builder.graph().at(result).type.dtype != fused.dtype) {
    return false;
  }
  for (size_t i = 0; i < fused.operands.size(); ++i) {
    const int position = static_cast<int>(i);
    const ValueId operand = fused.operands[i];
    if (position == fused.flow_position || operand == ValueId::kNone ||
        !builder.ShareBuffer(result, operand)) {
      continue;
    }
    if (!steps.MayOverwrite(position) || !builder.StandInOnePlace(result, operand)) return false;
  }
  return steps.MayOverwrite(fused.flow_position);
}

// `result`: of the whole tail, where this is its last op; kNone otherwise.
TileView EmitFused(const FusedOp& fused, ValueId result, const Box& box, const TileView& tile,
                   TileBuilder& builder) {
  const Graph& graph = builder.graph();
  const OpDef& op = GetOpDef(fused.kind);
  if (op.vector_steps == nullptr) {
    builder.Fail(Internal("{} '{}' is not elementwise", OpName(fused.kind), fused.name));
    return tile;
  }
  const auto steps = op.vector_steps(UseOfFused(graph, fused, tile.dtype));
  if (!steps.ok()) {
    builder.Fail(Annotate(steps.status(), fused.name));
    return tile;
  }
  const TileView flow = ReadFlow(fused, tile, builder);
  absl::InlinedVector<TileView, 3> operands(fused.operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const int position = static_cast<int>(i);
    if (position == fused.flow_position) {
      operands[i] = flow;
    } else if (steps->Reads(position)) {
      const ValueId id = fused.operands[i];
      const Box needed = OperandBox(graph.at(id).type.shape, box);
      const auto scale = ReadScaleOf(fused.attributes, i);
      operands[i] = builder.LoadHeldAs(id, needed, "tail", scale).BroadcastTo(box.extent);
    }
  }
  const bool in_place = fused.dtype == flow.dtype && steps->MayOverwrite(fused.flow_position);
  const TileView out = GoesToItsPlace(fused, result, *steps, builder)
                           ? builder.ResidentView(result, box)
                       : in_place ? flow
                                  : builder.NewTile(fused.dtype, box.extent, "tail result");
  EmitSteps(*steps, operands, out, builder);
  return out;
}

// Steps of a fused op when only dtypes are known.
bool RunsInPlace(const FusedOp& fused, absl::Span<const TensorType> operands, DType flow) {
  ElementwiseUse use;
  use.kind = fused.kind;
  use.attributes = &fused.attributes;
  use.result = fused.dtype;
  size_t next = 0;
  for (size_t i = 0; i < fused.operands.size(); ++i) {
    const bool is_flow = static_cast<int>(i) == fused.flow_position;
    const DType stored = is_flow ? flow : operands[next++].dtype;
    use.dtypes.push_back(ReadDType(fused.attributes, i, stored));
    use.constants.push_back(nullptr);
  }
  const OpDef& op = GetOpDef(fused.kind);
  const auto position = static_cast<size_t>(fused.flow_position);
  if (op.vector_steps == nullptr) return false;
  if (fused.dtype != ReadDType(fused.attributes, position, flow)) return false;
  const auto steps = op.vector_steps(use);
  return steps.ok() && steps->MayOverwrite(fused.flow_position);
}

std::optional<Activation> AsActivation(uint8_t function) {
  switch (static_cast<UnaryFunction>(function)) {
    case UnaryFunction::kRelu:
      return Activation::kRelu;
    case UnaryFunction::kClip:
      return Activation::kClip;
    case UnaryFunction::kLeakyRelu:
      return Activation::kLeakyRelu;
    default:
      return std::nullopt;
  }
}

}  // namespace

AbsorbedTail AbsorbActivation(const Graph& graph, const Node& node) {
  if (node.tail.empty()) return {};
  const FusedOp& fused = node.tail[0];
  const OpDef& op = GetOpDef(fused.kind);
  if (op.vector_steps == nullptr || !IsSmallFloat(fused.dtype)) return {};
  if (HasReadScales(fused.attributes)) return {};
  const auto steps = op.vector_steps(UseOfFused(graph, fused, fused.dtype));
  if (!steps.ok() || steps->steps.size() != 1) return {};
  const VectorStep& step = steps->steps[0];
  if (step.form != VectorStep::Form::kUnary || step.operands[0] != fused.flow_position) return {};
  const auto activation = AsActivation(step.function);
  if (!activation) return {};
  return {*activation, step.alpha, step.beta, 1};
}

TileView EmitTail(const Node& node, size_t first, const Box& box, TileView tile,
                  TileBuilder& builder) {
  for (size_t i = first; i < node.tail.size(); ++i) {
    const bool is_last = i + 1 == node.tail.size();
    tile = EmitFused(node.tail[i], is_last ? node.outputs[0] : ValueId::kNone, box, tile, builder);
  }
  return tile;
}

TailBuffers::TailBuffers(const OpCall& call) {
  size_t next = 0;
  DType flow = call.output().dtype;
  for (const FusedOp& fused : call.node->tail) {
    const size_t operand_count = fused.operands.size() - 1;
    const auto operands = call.tail_inputs.subspan(next, operand_count);
    const auto on_chip = call.tail_on_chip.empty() ? call.tail_on_chip
                                                   : call.tail_on_chip.subspan(next, operand_count);
    next += operand_count;
    AddOperands(fused, operands, on_chip, flow);
    if (!RunsInPlace(fused, operands, flow)) buffers_.push_back({{fused.dtype, {}}, false});
    flow = fused.dtype;
  }
}

// Tiles of the other operands, and of all that are read as floats.
void TailBuffers::AddOperands(const FusedOp& fused, absl::Span<const TensorType> operands,
                              absl::Span<const bool> on_chip, DType flow) {
  size_t next = 0;
  for (size_t i = 0; i < fused.operands.size(); ++i) {
    if (static_cast<int>(i) == fused.flow_position) {
      if (ReadDType(fused.attributes, i, flow) != flow) {
        buffers_.push_back({{DType::kFloat32, {}}, false});
      }
      continue;
    }
    const bool is_placed = next < on_chip.size() && on_chip[next];
    const TensorType& operand = operands[next++];
    if (operand.dtype == DType::kUndefined || is_placed) continue;
    buffers_.push_back({operand, true});
    if (ReadScaleOf(fused.attributes, i)) {
      buffers_.push_back({{DType::kFloat32, operand.shape}, true});
    }
  }
}

int64_t TailBuffers::Bytes(const Extents& box_extent) const {
  int64_t bytes = 0;
  for (const Buffer& buffer : buffers_) {
    bytes += buffer.is_operand ? OperandTileBytes(buffer.type, box_extent)
                               : TileBytes(buffer.type.dtype, box_extent);
  }
  return bytes;
}

}  // namespace berth
