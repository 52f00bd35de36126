#include "npu_sim/program.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace berth {
namespace {

std::string_view SpaceName(const ProgramView& program, const Operand& operand) {
  switch (operand.space) {
    case MemorySpace::kNone:
      return "none";
    case MemorySpace::kScratchpad:
      return "scratchpad";
    case MemorySpace::kAccumulator:
      return "accumulator";
    case MemorySpace::kDram:
      break;
  }
  if (operand.region >= program.regions.size()) return "dram?";
  switch (program.regions[operand.region].kind) {
    case RegionKind::kConstants:
      return "constants";
    case RegionKind::kPool:
      return "pool";
    case RegionKind::kInput:
      return "input";
    case RegionKind::kOutput:
      return "output";
  }
  return "dram?";
}

// " in0=scratchpad+4096:float32(256,4,0,0)#7"
void AppendOperand(const ProgramView& program, std::string_view name, const Operand& operand,
                   std::string& text) {
  if (!operand.present()) return;
  auto out = std::back_inserter(text);
  fmt::format_to(out, " {}={}", name, SpaceName(program, operand));
  if (operand.space == MemorySpace::kDram) fmt::format_to(out, "[{}]", operand.region);
  fmt::format_to(out, "+{}:{}({},{},{},{})", operand.offset_bytes, DTypeName(operand.dtype),
                 operand.stride_bytes[0], operand.stride_bytes[1], operand.stride_bytes[2],
                 operand.stride_bytes[3]);
  if (operand.slot != kNoSlot) fmt::format_to(out, "#{}", operand.slot);
}

std::string_view FunctionName(const Command& command) {
  const uint8_t function = command.params.vector.function;
  switch (command.opcode) {
    case Opcode::kUnary:
      return UnaryFunctionName(static_cast<UnaryFunction>(function));
    case Opcode::kBinary:
      return BinaryFunctionName(static_cast<BinaryFunction>(function));
    case Opcode::kReduce:
      return ReduceFunctionName(static_cast<ReduceFunction>(function));
    default:
      return "";
  }
}

void AppendWindow(const Window& window, std::string& text) {
  fmt::format_to(std::back_inserter(text), " window={}x{}/{}x{} dilation={}x{} pad={},{}",
                 window.kernel_height, window.kernel_width, window.stride_height,
                 window.stride_width, window.dilation_height, window.dilation_width, window.pad_top,
                 window.pad_left);
  fmt::format_to(std::back_inserter(text), " upsample={}x{} input={}x{}", window.upsample_height,
                 window.upsample_width, window.input_height, window.input_width);
}

void AppendParams(const Command& command, std::string& text) {
  if (!FunctionName(command).empty()) {
    fmt::format_to(std::back_inserter(text), " {}", FunctionName(command));
  }
  if (command.opcode == Opcode::kConv || command.opcode == Opcode::kDepthwise) {
    AppendWindow(command.params.matrix.window, text);
  }
  if (command.opcode == Opcode::kPool) AppendWindow(command.params.vector.window, text);
  if (command.flags & kFlagAccumulate) text += " accumulate";
  if (command.flags & kFlagWriteOut) text += " write_out";
  if (command.flags & kFlagFinish) text += " finish";
  if (command.flags & kFlagLastIndex) text += " last_index";
}

void AppendWaits(const ProgramView& program, const Command& command, std::string& text) {
  for (size_t i = 0; i < command.wait_count; ++i) {
    const size_t position = size_t{command.wait_begin} + i;
    text += i == 0 ? " waits " : ",";
    if (position >= program.waits.size() ||
        program.waits[position].engine >= program.engines.size()) {
      text += "?";
      continue;
    }
    const Wait& wait = program.waits[position];
    fmt::format_to(std::back_inserter(text), "{}>={}", EngineName(program.engines[wait.engine]),
                   wait.count);
  }
}

}  // namespace

std::vector<EngineId> CoreEngines(int dma_channels, int core) {
  const auto core_id = static_cast<uint8_t>(core);
  std::vector<EngineId> engines;
  for (int channel = 0; channel < dma_channels; ++channel) {
    engines.push_back({core_id, EngineKind::kDma, static_cast<uint8_t>(channel)});
  }
  engines.push_back({core_id, EngineKind::kMatrix, 0});
  engines.push_back({core_id, EngineKind::kVector, 0});
  engines.push_back({core_id, EngineKind::kHost, 0});
  return engines;
}

std::string_view EngineKindName(EngineKind kind) {
  switch (kind) {
    case EngineKind::kDma:
      return "dma";
    case EngineKind::kMatrix:
      return "matrix";
    case EngineKind::kVector:
      return "vector";
    case EngineKind::kHost:
      return "host";
  }
  return "unknown";
}

std::string EngineName(const EngineId& engine) {
  std::string name = engine.core == 0 ? "" : fmt::format("{}.", engine.core);
  name += EngineKindName(engine.kind);
  if (engine.kind == EngineKind::kDma || engine.index != 0) {
    name += fmt::format("{}", engine.index);
  }
  return name;
}

std::string DumpCommand(const ProgramView& program, size_t index) {
  const Command& command = program.commands[index];
  const std::string engine = command.engine < program.engines.size()
                                 ? EngineName(program.engines[command.engine])
                                 : fmt::format("engine?{}", command.engine);
  std::string text = fmt::format("{:>6} {:<7} {:<11} op={} {}x{}x{}x{}", index, engine,
                                 OpcodeName(command.opcode), command.op, command.extent[0],
                                 command.extent[1], command.extent[2], command.extent[3]);
  AppendOperand(program, "out", command.out, text);
  AppendOperand(program, "in0", command.in0, text);
  AppendOperand(program, "in1", command.in1, text);
  AppendOperand(program, "in2", command.in2, text);
  AppendOperand(program, "acc", command.acc, text);
  AppendParams(command, text);
  AppendWaits(program, command, text);
  return text;
}

std::string DumpProgram(const ProgramView& program) {
  std::string text;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    text += DumpCommand(program, i);
    text += '\n';
  }
  return text;
}

}  // namespace berth
