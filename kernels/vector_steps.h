// What an elementwise op is on the vector unit: one or more commands over a tile, with scalar
// constants taken in as parameters of the command where the result is the same.
//
// The steps of an op stand in its file (OpDef::vector_steps); a node of its own and an op in
// another node's tail both run through them.
#pragma once

#include <array>

#include "absl/container/inlined_vector.h"
#include "kernels/op_def.h"
#include "kernels/tile_builder.h"

namespace berth {

// One use of an elementwise op, as a node or in a tail.
struct ElementwiseUse {
  OpKind kind = OpKind::kIdentity;
  const Attributes* attributes = nullptr;
  absl::InlinedVector<DType, 3> dtypes;             // of the operands; kUndefined where absent
  absl::InlinedVector<const Tensor*, 3> constants;  // values known at compile time, or null
  DType result = DType::kUndefined;

  int operand_count() const { return static_cast<int>(dtypes.size()); }
  bool Has(int i) const {
    return i < operand_count() && dtypes[static_cast<size_t>(i)] != DType::kUndefined;
  }
  DType dtype(int i) const { return dtypes[static_cast<size_t>(i)]; }
};

struct VectorStep {
  enum class Form : uint8_t { kUnary, kBinary, kSelect, kCast, kQuantize, kDequantize };
  static constexpr int kPrevious = -1;  // the result of the step before
  static constexpr int kNone = -2;

  Form form = Form::kUnary;
  uint8_t function = 0;       // UnaryFunction or BinaryFunction
  float alpha = 0, beta = 0;  // kQuantize, kDequantize: alpha is the scale if operand 1 is kNone
  std::array<int, 3> operands = {kNone, kNone, kNone};  // positions among the op's operands
  int32_t zero_point = 0;
};

struct VectorSteps {
  absl::InlinedVector<VectorStep, 3> steps;

  bool Reads(int operand) const;
  // The result may be written over this operand: only the first step reads it.
  bool MayOverwrite(int operand) const;
};

VectorStep UnaryStep(UnaryFunction function, int operand, float alpha = 0, float beta = 0);
VectorStep BinaryStep(BinaryFunction function, int a, int b, float alpha = 0);

// float32, float16 or bfloat16: what is computed in float32.
bool IsSmallFloat(DType dtype);

// The value of operand `i` where it is one element known at compile time and float arithmetic on it
// is what the op does (all operands 16- or 32-bit floats).
std::optional<float> FloatScalar(const ElementwiseUse& use, int i);

// The use that a node is, and that a fused op is with a flowing value of dtype `flow`.
ElementwiseUse UseOfNode(const OpCall& call);
ElementwiseUse UseOfFused(const Graph& graph, const FusedOp& fused, DType flow);

// The box of an operand that a box of the broadcast result needs, in the operand's own rank.
Box OperandBox(const Shape& operand, const Box& box);
// Scratchpad bytes of the operand's tile for a result tile of `extent`.
int64_t OperandTileBytes(const TensorType& operand, const Extents& extent);
// Bytes of a dense tile as the scratchpad gives them out.
int64_t TileBytes(DType dtype, const Extents& extent);

// Runs the steps; `operands` by position (those that are not read may be empty), each with the
// extents of `out` (BroadcastTo). `out` may be an operand that MayOverwrite.
void EmitSteps(const VectorSteps& steps, absl::Span<const TileView> operands, const TileView& out,
               TileBuilder& builder);

}  // namespace berth
