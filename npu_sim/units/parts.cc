#include "npu_sim/units/parts.h"

#include "base/checked_math.h"
#include "base/dtype.h"

namespace berth {
namespace {

// Enough for the threads of a host. More only where a part would take longer than a run that is to
// stop may go on, about a millisecond.
constexpr int64_t kUsualParts = 16;
constexpr int64_t kLongPart = 16;  // in units of what each kind of command calls a part
constexpr int64_t kMostParts = 1024;
constexpr int64_t kMacsPerPart = int64_t{1} << 20;
constexpr int64_t kDmaBytesPerPart = int64_t{1} << 18;
constexpr int64_t kElementsPerPart = int64_t{1} << 16;
// A narrower GEMM spends its time on packing operands instead of multiplying.
constexpr int64_t kRowsPerPart = 64;
constexpr int64_t kColumnsPerPart = 64;
// Each part gathers all samples under a window again.
constexpr int64_t kColumnsPerGatheringPart = 128;

int64_t Product(const Command& c) {
  return int64_t{c.extent[0]} * c.extent[1] * c.extent[2] * c.extent[3];
}

int ClampParts(int64_t wanted, int64_t available) {
  const int64_t most = std::clamp(wanted / kLongPart, kUsualParts, kMostParts);
  return static_cast<int>(std::max<int64_t>(1, std::min({wanted, available, most})));
}

// The longest of `loops`, the outermost where several could give all wanted parts.
PartPlan BestLoop(const Command& c, int64_t wanted, std::initializer_list<int> loops) {
  PartPlan best;
  for (int loop : loops) {
    const int count = ClampParts(wanted, c.extent[loop]);
    if (count > best.count) best = {loop, count};
  }
  return best;
}

int64_t WindowTaps(const Window& w) { return int64_t{w.kernel_height} * w.kernel_width; }

PartPlan PlanGemmParts(const Command& c) {
  const int64_t wanted = Product(c) / kMacsPerPart;
  PartPlan best{0, ClampParts(wanted, c.extent[0])};
  const int by_rows = ClampParts(wanted, c.extent[1] / kRowsPerPart);
  if (by_rows > best.count) best = {1, by_rows};
  const int by_columns = ClampParts(wanted, c.extent[2] / kColumnsPerPart);
  if (by_columns > best.count) best = {2, by_columns};
  return best;
}

PartPlan PlanConvParts(const Command& c) {
  const int64_t wanted = Product(c) * WindowTaps(c.params.matrix.window) / kMacsPerPart;
  const int64_t pixels = int64_t{c.extent[0]} * c.extent[1];
  PartPlan best{0, ClampParts(wanted, std::min<int64_t>(pixels / kRowsPerPart, c.extent[0]))};
  const bool gathers = WindowTaps(c.params.matrix.window) > 1;
  const int64_t columns = gathers ? kColumnsPerGatheringPart : kColumnsPerPart;
  const int by_columns = ClampParts(wanted, c.extent[2] / columns);
  if (by_columns > best.count) best = {2, by_columns};
  return best;
}

bool IsArgReduction(const Command& c) {
  const auto function = static_cast<ReduceFunction>(c.params.vector.function);
  return function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
}

// Only loops that are kept can be divided.
PartPlan PlanReduceParts(const Command& c) {
  PartPlan best;
  const int64_t wanted = Product(c) / kElementsPerPart;
  for (int loop = 0; loop < (IsArgReduction(c) ? 3 : 4); ++loop) {
    if (c.out.stride_bytes[loop] == 0) continue;
    const int count = ClampParts(wanted, c.extent[loop]);
    if (count > best.count) best = {loop, count};
  }
  return best;
}

// Along this loop in0 is addressed by numbers from in1, not by the loop.
bool IsIndexedLoop(const Command& c, int loop) {
  return (c.opcode == Opcode::kDmaGather && loop == 0) ||
         (c.opcode == Opcode::kInterpolate && loop == 1);
}

}  // namespace

PartPlan PlanParts(const Command& c) {
  switch (c.opcode) {
    case Opcode::kInvalid:
    case Opcode::kHostCall:
      return {};
    case Opcode::kGemm:
      return PlanGemmParts(c);
    case Opcode::kConv:
      return PlanConvParts(c);
    case Opcode::kDepthwise:  // runs at a vector unit's rate, hence smaller parts
      return BestLoop(c, Product(c) * WindowTaps(c.params.matrix.window) * 4 / kMacsPerPart, {0});
    case Opcode::kPool:
      return BestLoop(c, Product(c) * WindowTaps(c.params.vector.window) / kElementsPerPart, {0});
    case Opcode::kDmaLoad:
    case Opcode::kDmaStore:
    case Opcode::kDmaFill:
      return BestLoop(c, Product(c) * DTypeBytes(c.out.dtype) / kDmaBytesPerPart, {0, 1, 2, 3});
    case Opcode::kDmaGather:
      return BestLoop(c, Product(c) * DTypeBytes(c.out.dtype) / kDmaBytesPerPart, {0});
    case Opcode::kDmaScatter:  // rows may repeat: the last one wins, so they stay in order
      return BestLoop(c, Product(c) * DTypeBytes(c.out.dtype) / kDmaBytesPerPart, {1, 2, 3});
    case Opcode::kReduce:
      return PlanReduceParts(c);
    case Opcode::kSoftmax:
      return BestLoop(c, Product(c) / kElementsPerPart, {0, 1, 2});
    case Opcode::kInterpolate:
      return BestLoop(c, Product(c) / kElementsPerPart, {0, 1, 2});
    default:  // element by element
      return BestLoop(c, Product(c) / kElementsPerPart, {0, 1, 2, 3});
  }
}

int64_t StepsPerPart(const Command& c) {
  const bool is_matrix_window = c.opcode == Opcode::kConv || c.opcode == Opcode::kDepthwise;
  const int64_t taps = is_matrix_window            ? WindowTaps(c.params.matrix.window)
                       : c.opcode == Opcode::kPool ? WindowTaps(c.params.vector.window)
                                                   : 1;
  return CeilDiv(Product(c) * taps, int64_t{PlanParts(c).count});
}

PartRanges RangesOfPart(const Command& command, int part) {
  const PartPlan plan = PlanParts(command);
  PartRanges ranges;
  for (int d = 0; d < 4; ++d) {
    ranges.loop[d] = d == plan.loop ? PartRange(command.extent[d], part, plan.count)
                                    : Range{0, command.extent[d]};
  }
  return ranges;
}

Command NarrowToPart(const Command& command, int part) {
  const PartPlan plan = PlanParts(command);
  Command narrowed = command;
  if (plan.count == 1) return narrowed;
  const Range range = PartRange(command.extent[plan.loop], part, plan.count);
  narrowed.extent[plan.loop] = static_cast<int32_t>(range.count());
  for (Operand* operand : {&narrowed.out, &narrowed.in0, &narrowed.in1, &narrowed.in2}) {
    if (operand == &narrowed.in0 && IsIndexedLoop(command, plan.loop)) continue;
    operand->offset_bytes += range.begin * operand->stride_bytes[plan.loop];
  }
  return narrowed;
}

}  // namespace berth
