#include "kernels/vector_steps.h"

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kTileAlignmentBytes = 64;

}  // namespace

bool IsSmallFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool VectorSteps::Reads(int operand) const {
  for (const VectorStep& step : steps) {
    for (const int read : step.operands) {
      if (read == operand) return true;
    }
  }
  return false;
}

bool VectorSteps::MayOverwrite(int operand) const {
  for (size_t i = 1; i < steps.size(); ++i) {
    for (const int read : steps[i].operands) {
      if (read == operand) return false;
    }
  }
  return true;
}

VectorStep UnaryStep(UnaryFunction function, int operand, float alpha, float beta) {
  return {VectorStep::Form::kUnary,
          static_cast<uint8_t>(function),
          alpha,
          beta,
          {operand, VectorStep::kNone, VectorStep::kNone},
          0};
}

VectorStep BinaryStep(BinaryFunction function, int a, int b, float alpha) {
  return {VectorStep::Form::kBinary,
          static_cast<uint8_t>(function),
          alpha,
          0,
          {a, b, VectorStep::kNone},
          0};
}

std::optional<float> FloatScalar(const ElementwiseUse& use, int i) {
  if (!use.Has(i)) return std::nullopt;
  for (const DType dtype : use.dtypes) {
    if (dtype != DType::kUndefined && !IsSmallFloat(dtype)) return std::nullopt;
  }
  const Tensor* constant = use.constants[static_cast<size_t>(i)];
  if (constant == nullptr || constant->shape().ElementCount() != 1) return std::nullopt;
  auto values = ToFloatValues(constant->view());
  if (!values.ok()) return std::nullopt;
  return (*values)[0];
}

ElementwiseUse UseOfNode(const OpCall& call) {
  ElementwiseUse use;
  use.kind = call.node->kind;
  use.attributes = &call.node->attributes;
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    use.dtypes.push_back(call.input(i).dtype);
    use.constants.push_back(call.Constant(i));
  }
  use.result = call.output().dtype;
  return use;
}

ElementwiseUse UseOfFused(const Graph& graph, const FusedOp& fused, DType flow) {
  ElementwiseUse use;
  use.kind = fused.kind;
  use.attributes = &fused.attributes;
  for (int i = 0; i < static_cast<int>(fused.operands.size()); ++i) {
    const ValueId id = fused.operands[static_cast<size_t>(i)];
    const bool known = i != fused.flow_position && id != ValueId::kNone;
    const DType stored = i == fused.flow_position ? flow
                         : known                  ? graph.at(id).type.dtype
                                                  : DType::kUndefined;
    use.dtypes.push_back(ReadDType(fused.attributes, static_cast<size_t>(i), stored));
    use.constants.push_back(known ? graph.at(id).constant.get() : nullptr);
  }
  use.result = fused.dtype;
  return use;
}

Box OperandBox(const Shape& operand, const Box& box) {
  Box result;
  const size_t missing = box.extent.size() - static_cast<size_t>(operand.rank());
  for (int axis = 0; axis < operand.rank(); ++axis) {
    const size_t at = missing + static_cast<size_t>(axis);
    const bool repeats = operand[axis] == 1;
    result.begin.push_back(repeats ? 0 : box.begin[at]);
    result.extent.push_back(repeats ? 1 : box.extent[at]);
  }
  return result;
}

int64_t TileBytes(DType dtype, const Extents& extent) {
  int64_t elements = 1;
  for (const int64_t e : extent) elements *= e;
  return AlignUp(elements * DTypeBytes(dtype), kTileAlignmentBytes);
}

int64_t OperandTileBytes(const TensorType& operand, const Extents& extent) {
  const Box box{Extents(extent.size(), 0), extent};
  return TileBytes(operand.dtype, OperandBox(operand.shape, box).extent);
}

void EmitSteps(const VectorSteps& steps, absl::Span<const TileView> operands, const TileView& out,
               TileBuilder& builder) {
  const auto view = [&](int operand) -> const TileView& {
    return operand == VectorStep::kPrevious ? out : operands[static_cast<size_t>(operand)];
  };
  for (const VectorStep& step : steps.steps) {
    const auto& [a, b, c] = step.operands;
    switch (step.form) {
      case VectorStep::Form::kUnary:
        builder.Unary(static_cast<UnaryFunction>(step.function), out, view(a), step.alpha,
                      step.beta);
        break;
      case VectorStep::Form::kBinary:
        builder.Binary(static_cast<BinaryFunction>(step.function), out, view(a), view(b),
                       step.alpha);
        break;
      case VectorStep::Form::kSelect:
        builder.Select(out, view(a), view(b), view(c));
        break;
      case VectorStep::Form::kCast:
        builder.Cast(out, view(a));
        break;
      case VectorStep::Form::kQuantize:
      case VectorStep::Form::kDequantize: {
        const Opcode opcode =
            step.form == VectorStep::Form::kQuantize ? Opcode::kQuantize : Opcode::kDequantize;
        if (b == VectorStep::kNone) {
          builder.Rescale(opcode, out, view(a), step.alpha, step.zero_point);
        } else {
          builder.RescaleBy(opcode, out, view(a), view(b), step.zero_point);
        }
        break;
      }
    }
  }
}

}  // namespace berth
