// What a float model stored at half size asks of each op: which operands share its dtype, and where
// float32 has to stay so that no value leaves the range of the smaller dtype.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// Positions of the operands that the op computes with in one dtype; the others (scales of a Resize,
// the bias of a matrix product) stay as they are.
std::vector<size_t> DataOperands(const Graph& graph, const Node& node);

// The op picks elements and computes nothing.
bool MovesOnly(OpKind kind);
// Quantizes, dequantizes, multiplies integers or reads stored integers: exact numbers are agreed.
bool IsQuantized(const Node& node);
// Conv, ConvTranspose, MatMul: a product of two operands on the matrix unit.
bool IsMatrixProduct(OpKind kind);

// The result may be far larger than the operands: powers, exponentials.
bool Widens(const Graph& graph, const Node& node);
// Large operands make large results (sums, products, choices); otherwise the op brings them back
// (quotients, roots, bounded functions).
bool KeepsWide(OpKind kind);
// The result hangs on small differences of large operands.
bool NeedsExactOperand(OpKind kind);
// Whole numbers that 16-bit floats do not hold: of more than 8 bits.
bool HoldsLargeIntegers(DType dtype);
// Operators that are defined for float32 alone.
bool IsFloat32Only(OpKind kind);

// Bounds of a 16-bit float dtype.
struct HalfRange {
  float largest = 0;          // finite
  float smallest_normal = 0;  // below it digits are lost
};
HalfRange RangeOfHalf(DType dtype);

// Why the constant cannot be stored as `dtype`: an element beyond its range (it would become
// infinite), or, where that matters, all elements so small that digits are lost. Empty: it can.
std::string WhyNotHalf(const Tensor& constant, DType dtype, bool minds_small = true);
// Rounded to nearest even.
Tensor RoundToHalf(const Tensor& constant, DType dtype);

}  // namespace berth
