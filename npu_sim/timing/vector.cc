#include "npu_sim/timing/vector.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/dtype.h"

namespace berth::timing {
namespace {

enum class Class { kSimple, kDivide, kExponential };

Class ClassOf(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kSqrt:
    case UnaryFunction::kReciprocal:
    case UnaryFunction::kRsqrt:
      return Class::kDivide;
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kExp:
    case UnaryFunction::kLog:
    case UnaryFunction::kErf:
    case UnaryFunction::kGelu:
    case UnaryFunction::kGeluTanh:
    case UnaryFunction::kSoftplus:
    case UnaryFunction::kElu:
    case UnaryFunction::kSin:
    case UnaryFunction::kCos:
    case UnaryFunction::kSilu:
    case UnaryFunction::kTan:
    case UnaryFunction::kAsin:
    case UnaryFunction::kAcos:
    case UnaryFunction::kAtan:
    case UnaryFunction::kSinh:
    case UnaryFunction::kCosh:
    case UnaryFunction::kAsinh:
    case UnaryFunction::kAcosh:
    case UnaryFunction::kAtanh:
      return Class::kExponential;
    default:
      return Class::kSimple;
  }
}

Class ClassOf(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kDiv:
    case BinaryFunction::kDivReversed:
    case BinaryFunction::kMod:
      return Class::kDivide;
    case BinaryFunction::kPow:
    case BinaryFunction::kPowReversed:
      return Class::kExponential;
    default:
      return Class::kSimple;
  }
}

int64_t CyclesOf(Class function_class, const VectorConfig& config) {
  switch (function_class) {
    case Class::kSimple:
      return config.simple_cycles_per_element;
    case Class::kDivide:
      return config.divide_cycles_per_element;
    case Class::kExponential:
      return config.exponential_cycles_per_element;
  }
  return config.simple_cycles_per_element;
}

// Lane cycles of one element of the iteration space.
int64_t CyclesPerElement(const Command& c, const VectorConfig& config) {
  const uint8_t function = c.params.vector.function;
  switch (c.opcode) {
    case Opcode::kUnary:
      return CyclesOf(ClassOf(static_cast<UnaryFunction>(function)), config);
    case Opcode::kBinary:
      return CyclesOf(ClassOf(static_cast<BinaryFunction>(function)), config);
    case Opcode::kSoftmax:  // maximum, subtraction, sum, scaling; one exponential
      return 4 * config.simple_cycles_per_element + config.exponential_cycles_per_element;
    case Opcode::kRequantize:
    case Opcode::kQuantize:
    case Opcode::kDequantize:  // scale, then convert
      return 2 * config.simple_cycles_per_element;
    default:
      return config.simple_cycles_per_element;
  }
}

int64_t Steps(const Command& c) {
  return int64_t{c.extent[0]} * c.extent[1] * c.extent[2] * c.extent[3];
}

// Elements of an operand that pass the ports: a loop that repeats one element (stride 0, nothing
// moving within) keeps it in a lane.
int64_t Streamed(const Command& c, const Operand& operand) {
  int64_t count = 1;
  bool moving = false;
  for (int d = 3; d >= 0; --d) {
    moving = moving || (operand.stride_bytes[d] != 0 && c.extent[d] > 1);
    if (moving) count *= c.extent[d];
  }
  return count * DTypeBytes(operand.dtype);
}

// Each element once.
int64_t Distinct(const Command& c, const Operand& operand) {
  int64_t count = 1;
  for (int d = 0; d < 4; ++d) {
    if (operand.stride_bytes[d] != 0) count *= c.extent[d];
  }
  return count * DTypeBytes(operand.dtype);
}

int64_t LaneBytes(const Command& c) {
  int64_t bytes = std::max(DTypeBytes(c.out.dtype), DTypeBytes(c.in0.dtype));
  switch (c.opcode) {
    case Opcode::kBinary:
      return DTypeBytes(c.in0.dtype);
    case Opcode::kSelect:
      return DTypeBytes(c.out.dtype);
    case Opcode::kReduce:
      return DTypeBytes(c.in0.dtype);
    case Opcode::kRequantize:
      return std::max<int64_t>(bytes, 4);
    default:
      return bytes;
  }
}

// As for depthwise: each sample once per kernel row.
int64_t PoolBytes(const Command& c) {
  const Window& w = c.params.vector.window;
  const int64_t samples_per_row = (int64_t{c.extent[1]} - 1) * w.stride_width + w.kernel_width;
  return int64_t{c.extent[0]} * w.kernel_height * samples_per_row * c.extent[2] *
         DTypeBytes(c.in0.dtype);
}

void AddBytes(const Command& c, VectorCost& cost) {
  cost.out_bytes = Distinct(c, c.out);
  if (c.in0.present()) cost.in0_bytes = Streamed(c, c.in0);
  if (c.in1.present()) cost.in1_bytes = Streamed(c, c.in1);
  if (c.in2.present()) cost.in2_bytes = Streamed(c, c.in2);
  switch (c.opcode) {
    case Opcode::kPool:
      cost.in0_bytes = PoolBytes(c);
      break;
    case Opcode::kSoftmax:
      cost.in0_bytes *= 2;
      break;  // maximum first, then the exponentials
    case Opcode::kInterpolate:
      cost.in0_bytes = Steps(c) * DTypeBytes(c.in0.dtype);
      break;
    case Opcode::kReduce:
      if (c.flags & kFlagAccumulate) cost.out_read_bytes = cost.out_bytes;
      break;
    default:
      break;
  }
}

}  // namespace

VectorCost CostOfVector(const Command& c, const VectorConfig& config) {
  VectorCost cost;
  cost.elements = Steps(c);
  if (c.opcode == Opcode::kPool) {
    const Window& w = c.params.vector.window;
    cost.elements *= int64_t{w.kernel_height} * w.kernel_width;
  }
  const int64_t lane_cycles = cost.elements * LaneBytes(c) * CyclesPerElement(c, config);
  cost.cycles = config.startup_cycles + CeilDiv(lane_cycles, config.int8_lanes);
  AddBytes(c, cost);
  return cost;
}

}  // namespace berth::timing
