// What QuantizeLinear and DequantizeLinear share: how scale (input 1) and zero point (input 2)
// meet the data.
//
// Formula: ONNX QuantizeLinear, DequantizeLinear; by blocks since opset 21. Beyond ONNX, for
// rewrites: attribute "broadcast" = 1 says that scale and zero point broadcast to the data by
// NumPy's rule.
#pragma once

#include "kernels/op_def.h"
#include "kernels/rewrite.h"
#include "kernels/vector_steps.h"

namespace berth {

struct QuantizationForm {
  enum class Kind : uint8_t { kTensor, kAxis, kBroadcast, kBlocks };
  Kind kind = Kind::kTensor;
  int axis = 0;            // kAxis, kBlocks
  int64_t block_size = 1;  // kBlocks: elements along the axis that share a scale
};

// Checks operands and attributes and tells the form. `output` is the quantized tensor's dtype for
// errors about the zero point.
absl::StatusOr<QuantizationForm> ResolveQuantization(const OpCall& call);

// int8, uint8, int16, uint16.
bool IsQuantizedDType(DType dtype);
// The bounds of such a dtype.
struct IntegerRange {
  int32_t least = 0, most = 0;
};
IntegerRange RangeOfDType(DType dtype);

// The value that every element of a known integer tensor has.
std::optional<int64_t> UniformInteger(const Tensor* tensor);
// The only element of a known float tensor.
std::optional<float> SingleFloat(const Tensor* tensor);

// Scale and zero point of a per-tensor (de)quantization that are known at compile time; nothing for
// any other form, or a scale that is not positive and finite.
struct TensorQuantization {
  float scale = 1;
  int32_t zero_point = 0;
  friend bool operator==(const TensorQuantization&, const TensorQuantization&) = default;
};
std::optional<TensorQuantization> KnownTensorQuantization(const OpCall& call);

// The step of either op: scale from operand 1 (a parameter where it is one known number), zero
// point from operand 2.
absl::StatusOr<VectorSteps> ScaledSteps(VectorStep::Form form, const ElementwiseUse& use);

// Operand `input` (scale or zero point) in a shape that broadcasts to the data.
ValueId PlacedScales(const OpCall& call, const QuantizationForm& form, int input,
                     GraphRewriter& rewrite);

// The shape in which a vector along `axis` broadcasts to a tensor of `rank`.
std::vector<int64_t> AlongAxisShape(int rank, int axis, int64_t extent);

}  // namespace berth
