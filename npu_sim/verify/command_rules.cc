#include "npu_sim/verify/command_rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "npu_sim/access.h"
#include "npu_sim/operands.h"
#include "npu_sim/verify.h"
#include "npu_sim/verify/message.h"

namespace berth {
namespace verify {
namespace {

constexpr int64_t kMaxReach = int64_t{1} << 48;  // bytes that one loop or offset may span
constexpr int64_t kMaxSteps = int64_t{1} << 36;  // innermost steps of one command

using OperandArray = std::array<const Operand*, 5>;

// Every check returns what is wrong, empty if nothing is.
std::string CheckShape(const Command& c) {
  int64_t steps = 1;
  for (int32_t extent : c.extent) {
    if (extent < 1) return fmt::format("extent {} is below 1", extent);
    if (steps > kMaxSteps / extent) return "the extents exceed 2^36 steps";
    steps *= extent;
  }
  const bool flat = c.opcode == Opcode::kDepthwise || c.opcode == Opcode::kPool;
  if (flat && c.extent[3] != 1) return fmt::format("extent[3] is {}, not 1", c.extent[3]);
  if (c.opcode == Opcode::kHostCall && steps != 1) return "a host call has no loops";
  return "";
}

bool MovesWindow(Opcode opcode) {
  return opcode == Opcode::kConv || opcode == Opcode::kDepthwise || opcode == Opcode::kPool;
}

// The window of conv, depthwise and pool; for interpolate the number of samples.
std::string CheckWindow(const Command& c) {
  const Window& w = c.opcode == Opcode::kPool || c.opcode == Opcode::kInterpolate
                        ? c.params.vector.window
                        : c.params.matrix.window;
  if (w.input_height < 1 || (MovesWindow(c.opcode) && w.input_width < 1)) {
    return fmt::format("the window's input is {}x{}", w.input_height, w.input_width);
  }
  const auto reaches_too_far = [&](int64_t extent, int axis) {
    return (extent - 1) * std::abs(int64_t{c.in0.stride_bytes[axis]}) > kMaxReach;
  };
  if (c.opcode == Opcode::kInterpolate) {
    if (reaches_too_far(w.input_height, 1)) return "in0 spans more than 2^48 bytes";
    if (!c.in2.present() && c.extent[3] != 1) return "several taps need weights";
    return "";
  }
  if (w.kernel_height < 1 || w.kernel_width < 1 || w.stride_height < 1 || w.stride_width < 1 ||
      w.dilation_height < 1 || w.dilation_width < 1 || w.upsample_height < 1 ||
      w.upsample_width < 1) {
    return "the window has a kernel, stride, dilation or upsampling below 1";
  }
  if (reaches_too_far(w.input_height, 0) || reaches_too_far(w.input_width, 1)) {
    return "in0 spans more than 2^48 bytes";
  }
  const int64_t taps = int64_t{w.kernel_height} * w.kernel_width;
  const int64_t steps = int64_t{c.extent[0]} * c.extent[1] * c.extent[2] * c.extent[3];
  return steps > kMaxSteps / taps ? "the window exceeds 2^36 steps" : "";
}

// Loops that operand `i` of a matrix command, pool or interpolate does not have (bit per loop).
int AbsentLoops(Opcode opcode, int i) {
  switch (opcode) {
    case Opcode::kGemm:
      return std::array{8, 4, 2, 11, 0}[static_cast<size_t>(i)];
    case Opcode::kConv:
      return std::array{8, 4, 0, 11, 0}[static_cast<size_t>(i)];
    case Opcode::kDepthwise:
      return std::array{8, 8, 8, 11, 0}[static_cast<size_t>(i)];
    case Opcode::kInterpolate:
      return std::array{8, 8, 5, 5, 0}[static_cast<size_t>(i)];
    case Opcode::kDmaGather:
    case Opcode::kDmaScatter:
      return i == 2 ? 14 : 0;
    default:
      return 0;
  }
}

std::string CheckOperand(const ProgramView& program, const Command& c, int i, const Operand& o) {
  const int64_t element_bytes = DTypeBytes(o.dtype);
  if (static_cast<int>(o.dtype) >= kDTypeCount || element_bytes == 0) return "dtype is unknown";
  if (o.space == MemorySpace::kDram && o.region >= program.regions.size()) {
    return fmt::format("region {} of {}", o.region, program.regions.size());
  }
  if (o.offset_bytes < 0 || o.offset_bytes > kMaxReach) {
    return fmt::format("offset {} is outside [0, 2^48]", o.offset_bytes);
  }
  if (o.offset_bytes % element_bytes != 0) {
    return fmt::format("offset {} is not a multiple of the element", o.offset_bytes);
  }
  if (c.opcode == Opcode::kHostCall) {
    const int32_t size_bytes = o.stride_bytes[0];
    if (size_bytes < element_bytes || size_bytes % element_bytes != 0) {
      return fmt::format("size {} is not a multiple of the element", size_bytes);
    }
    return "";
  }
  for (int d = 0; d < 4; ++d) {
    const int64_t stride = o.stride_bytes[d];
    if (stride % element_bytes != 0) {
      return fmt::format("stride {} is not a multiple of the element", stride);
    }
    if (stride != 0 && (AbsentLoops(c.opcode, i) >> d & 1)) {
      return fmt::format("stride[{}] = {} belongs to an absent loop", d, stride);
    }
    if ((int64_t{c.extent[d]} - 1) * std::abs(stride) > kMaxReach) return "spans over 2^48 bytes";
  }
  return "";
}

std::string CheckOperands(const ProgramView& program, const Command& c) {
  const OperandSpec spec = SpecOf(c);
  const OperandArray operands = OperandsOf(c);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = *operands[i];
    const bool required = spec.required >> i & 1;
    if (!o.present()) {
      if (required) return fmt::format("{} is missing", kOperandNames[i]);
      continue;
    }
    if (!required && !(spec.optional >> i & 1)) {
      return fmt::format("{} does not belong to this opcode", kOperandNames[i]);
    }
    const bool fits = spec.space[i] == MemorySpace::kNone
                          ? o.space == MemorySpace::kDram || o.space == MemorySpace::kScratchpad
                          : o.space == spec.space[i];
    if (!fits) {
      return fmt::format("{} must not stand in {}", kOperandNames[i],
                         DescribeSpace(program, o.space, o.region));
    }
    const std::string reason = CheckOperand(program, c, static_cast<int>(i), o);
    if (!reason.empty()) return fmt::format("{}: {}", kOperandNames[i], reason);
  }
  return "";
}

std::string CheckFlagsAndFunction(const Command& c) {
  const OperandSpec spec = SpecOf(c);
  if (c.flags & ~spec.flags) return fmt::format("flags {:#x} are not of this opcode", c.flags);
  if (spec.functions != 0 && c.params.vector.function >= spec.functions) {
    return fmt::format("function {} is unknown", c.params.vector.function);
  }
  if (EngineOf(c.opcode) == EngineKind::kMatrix &&
      c.params.matrix.activation > Activation::kLeakyRelu) {
    return fmt::format("activation {} is unknown", static_cast<int>(c.params.matrix.activation));
  }
  return "";
}

std::string CheckDma(const Command& c, const NpuConfig& config) {
  int loops = 0;
  for (int32_t extent : c.extent) {
    if (extent > config.dma.max_extent) {
      return fmt::format("extent {} exceeds the descriptor's {}", extent, config.dma.max_extent);
    }
    loops += extent > 1;
  }
  if (loops > config.dma.max_dims) {
    return fmt::format("{} loops exceed the descriptor's {}", loops, config.dma.max_dims);
  }
  if (c.opcode != Opcode::kDmaGather && c.opcode != Opcode::kDmaScatter) return "";
  const Operand& table = c.opcode == Opcode::kDmaGather ? c.in0 : c.out;
  const int64_t rows = c.params.dma.row_limit;
  const int64_t pitch = table.stride_bytes[0];
  if (rows < 1 || rows > kMaxReach || (pitch < 0 ? -pitch : pitch) > kMaxReach / rows) {
    return fmt::format("row_limit {} is out of range", rows);
  }
  return "";
}

// Writing the same byte twice in one command has no defined result: strides must nest.
std::string CheckOutputNests(const Command& c) {
  if (!c.out.present() || c.opcode == Opcode::kHostCall) return "";
  const bool matrix = EngineOf(c.opcode) == EngineKind::kMatrix;
  if (matrix && !(c.flags & kFlagWriteOut)) return "";
  const int loop_count = matrix || c.opcode == Opcode::kInterpolate ? 3 : 4;
  std::array<std::pair<int64_t, int64_t>, 4> loops;  // stride, extent; ascending
  size_t count = 0;
  for (int d = 0; d < loop_count; ++d) {
    const int64_t stride = std::abs(int64_t{c.out.stride_bytes[d]});
    if (c.extent[d] == 1 || (stride == 0 && c.opcode == Opcode::kReduce)) continue;
    size_t place = count++;
    for (; place > 0 && loops[place - 1].first > stride; --place) loops[place] = loops[place - 1];
    loops[place] = {stride, c.extent[d]};
  }
  int64_t span = DTypeBytes(c.out.dtype);
  for (size_t i = 0; i < count; ++i) {
    if (loops[i].first < span) {
      return fmt::format("out: stride {} makes elements overlap", loops[i].first);
    }
    span += (loops[i].second - 1) * loops[i].first;
  }
  return "";
}

bool WorksInPlace(Opcode opcode) {
  switch (opcode) {
    case Opcode::kUnary:
    case Opcode::kBinary:
    case Opcode::kSelect:
    case Opcode::kSoftmax:
    case Opcode::kCopy:
    case Opcode::kCast:
    case Opcode::kRequantize:
    case Opcode::kQuantize:
    case Opcode::kDequantize:
      return true;
    default:
      return false;
  }
}

bool SameElements(const Operand& a, const Operand& b, const int32_t (&extent)[4]) {
  for (int d = 0; d < 4; ++d) {
    if (extent[d] > 1 && a.stride_bytes[d] != b.stride_bytes[d]) return false;
  }
  return a.offset_bytes == b.offset_bytes && DTypeBytes(a.dtype) == DTypeBytes(b.dtype);
}

// A command may write over what it reads only element by element.
std::string CheckInPlace(const Command& c) {
  const AccessList accesses = CollectAccesses(c);
  const OperandArray operands = OperandsOf(c);
  for (const Access& write : accesses) {
    if (!write.is_write) continue;
    for (const Access& read : accesses) {
      if (read.is_write || read.operand == write.operand || !MayOverlap(read, write)) continue;
      const bool same = SameElements(*operands[read.operand], *operands[write.operand], c.extent);
      if (!WorksInPlace(c.opcode) || !same) {
        return fmt::format("{} overlaps {} out of step", kOperandNames[write.operand],
                           kOperandNames[read.operand]);
      }
    }
  }
  return "";
}

std::string CheckHost(const Command& c) {
  const OperandArray operands = OperandsOf(c);
  if (c.params.host.output_mask >> operands.size() != 0) return "output_mask names no operand";
  for (size_t i = 0; i < operands.size(); ++i) {
    if ((c.params.host.output_mask >> i & 1) && !operands[i]->present()) {
      return fmt::format("output_mask names the absent {}", kOperandNames[i]);
    }
  }
  return "";
}

std::string CheckEngine(const ProgramView& program, const Command& c) {
  if (c.opcode == Opcode::kInvalid || OpcodeName(c.opcode) == "invalid") {
    return fmt::format("opcode {} is unknown", static_cast<int>(c.opcode));
  }
  if (c.engine >= program.engines.size()) {
    return fmt::format("engine {} of {}", c.engine, program.engines.size());
  }
  if (program.engines[c.engine].kind != EngineOf(c.opcode)) return "runs on the wrong engine";
  if (c.op >= kMaxOps) return fmt::format("op {} exceeds {}", c.op, kMaxOps - 1);
  if (c.wait_begin > program.waits.size() || c.wait_count > program.waits.size() - c.wait_begin) {
    return fmt::format("waits [{}, +{}) of {}", c.wait_begin, c.wait_count, program.waits.size());
  }
  if (c.wait_count > program.engines.size()) {
    return fmt::format("{} waits for {} engines", c.wait_count, program.engines.size());
  }
  return "";
}

std::string CheckCommand(const ProgramView& program, const NpuConfig& config, const Command& c) {
  std::string reason = CheckEngine(program, c);
  if (reason.empty()) reason = CheckShape(c);
  if (reason.empty()) reason = CheckFlagsAndFunction(c);
  if (reason.empty()) reason = CheckOperands(program, c);
  if (reason.empty()) reason = CheckDTypes(c);
  const EngineKind kind = EngineOf(c.opcode);
  if (reason.empty() && (MovesWindow(c.opcode) || c.opcode == Opcode::kInterpolate)) {
    reason = CheckWindow(c);
  }
  if (reason.empty() && kind == EngineKind::kDma) reason = CheckDma(c, config);
  if (reason.empty() && kind == EngineKind::kHost) reason = CheckHost(c);
  if (reason.empty()) reason = CheckOutputNests(c);
  if (reason.empty()) reason = CheckInPlace(c);
  return reason;
}

bool OnMachine(const EngineId& engine, const NpuConfig& config) {
  if (engine.core != 0 || engine.kind > EngineKind::kHost) return false;
  return engine.index < (engine.kind == EngineKind::kDma ? config.dma.channels : 1);
}

}  // namespace

absl::Status CheckTables(const ProgramView& program, const NpuConfig& config) {
  if (program.commands.size() >= kNoSlot) return DataLoss("{} commands", program.commands.size());
  for (size_t i = 0; i < program.engines.size(); ++i) {
    const EngineId& engine = program.engines[i];
    const auto earlier = program.engines.subspan(0, i);
    if (!OnMachine(engine, config) ||
        std::find(earlier.begin(), earlier.end(), engine) != earlier.end()) {
      return DataLoss("engine {} ({}) is not of {} or stands twice", i, EngineName(engine),
                      config.name);
    }
  }
  int64_t dram_bytes = 0;
  for (size_t i = 0; i < program.regions.size(); ++i) {
    const DramRegion& region = program.regions[i];
    if (region.kind > RegionKind::kOutput || region.size_bytes < 0 ||
        region.size_bytes > config.dram.size_bytes - dram_bytes) {
      return DataLoss("region {}: kind {}, {} bytes after {}, DRAM has {}", i,
                      static_cast<int>(region.kind), region.size_bytes, dram_bytes,
                      config.dram.size_bytes);
    }
    dram_bytes += region.size_bytes;
  }
  const auto check = [](std::string_view name, int64_t used, int64_t available) {
    if (used >= 0 && used <= available) return absl::OkStatus();
    return DataLoss("{} of {} bytes, the machine has {}", name, used, available);
  };
  BERTH_RETURN_IF_ERROR(
      check("scratchpad", program.scratchpad_bytes, config.scratchpad.size_bytes));
  return check("accumulator", program.accumulator_bytes, config.accumulator.size_bytes);
}

}  // namespace verify

absl::Status VerifyCommand(const ProgramView& program, const NpuConfig& config, size_t index) {
  if (index >= program.commands.size()) {
    return DataLoss("command {} of {}", index, program.commands.size());
  }
  const std::string reason = verify::CheckCommand(program, config, program.commands[index]);
  if (reason.empty()) return absl::OkStatus();
  return DataLoss("{}: {}", verify::DescribeCommand(program, index), reason);
}

}  // namespace berth
