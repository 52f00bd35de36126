// Operands that a node reads in another form than they are stored: an integer operand with a read
// scale reaches the op as float32, (value - zero_point) * scale, so that integers travel through
// DRAM and floats exist inside a tile only.
//
// The scales stand in two attributes of the node (or fused op) that importers never make, by
// position of the operand: "read_scales" (floats, 0: as stored) and "read_zero_points" (ints).
// NodeCall, the tile builder and the reference apply them, so that the rules of an op see float32.
#pragma once

#include <optional>

#include "kernels/graph.h"

namespace berth {

struct ReadScale {
  float scale = 0;  // > 0
  int32_t zero_point = 0;
  friend bool operator==(const ReadScale&, const ReadScale&) = default;
};

bool HasReadScales(const Attributes& attributes);
std::optional<ReadScale> ReadScaleOf(const Attributes& attributes, size_t operand);
void SetReadScale(Attributes& attributes, size_t operand, const ReadScale& scale);
// What the op sees of an operand that is stored as `stored`.
DType ReadDType(const Attributes& attributes, size_t operand, DType stored);

}  // namespace berth
