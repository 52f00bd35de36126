#include "tools/inspect_op.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "npu_sim/operands.h"
#include "npu_sim/timing.h"
#include "npu_sim/verify.h"

namespace berth {
namespace {

const SegmentInfo* SegmentOf(const InspectedPlan& plan, uint32_t op) {
  for (const SegmentInfo& segment : plan.info().segments) {
    if (op >= segment.chosen.begin_op && op < segment.chosen.end_op) return &segment;
  }
  return nullptr;
}

std::vector<OpBuffers> BuffersOf(const InspectedPlan& plan, uint32_t op) {
  const ProgramView& program = plan.program();
  std::vector<OpBuffers> buffers;
  std::map<std::pair<std::string_view, MemorySpace>, size_t> positions;
  std::set<uint32_t> seen;
  for (const Command& command : program.commands) {
    if (command.op != op) continue;
    for (const Operand* operand : OperandsOf(command)) {
      if (!operand->present() || operand->slot >= program.slots.size()) continue;
      if (!seen.insert(operand->slot).second) continue;
      const Slot& slot = program.slots[operand->slot];
      const auto [at, added] =
          positions.try_emplace({plan.SlotName(operand->slot), slot.space}, buffers.size());
      if (added) buffers.push_back({plan.SlotName(operand->slot), slot.space});
      OpBuffers& entry = buffers[at->second];
      ++entry.count;
      entry.largest_bytes = std::max(entry.largest_bytes, slot.size_bytes);
    }
  }
  return buffers;
}

void AddTimes(const ProgramView& program, const SimReport& report, OpExplanation& why) {
  const auto time_of = [&](size_t engine) -> OpTime& {
    return why.times[static_cast<size_t>(program.engines[engine].kind)];
  };
  for (size_t c = 0; c < program.commands.size(); ++c) {
    if (program.commands[c].op != why.op) continue;
    ++time_of(program.commands[c].engine).command_count;
    why.bus_cycles += report.commands[c].bus_end_cycle - report.commands[c].bus_begin_cycle;
  }
  for (size_t engine = 0; engine < report.accounts.size(); ++engine) {
    OpTime& time = time_of(engine);
    for (const AccountSpan& span : report.accounts[engine]) {
      if (span.command == AccountSpan::kNoCommand || program.commands[span.command].op != why.op) {
        continue;
      }
      const int64_t cycles = span.end_cycle - span.begin_cycle;
      if (span.cause == StallCause::kNone) {
        time.busy_cycles += cycles;
        if (span.is_set_up) time.set_up_cycles += cycles;
      } else {
        time.stall_cycles[static_cast<size_t>(span.cause)] += cycles;
      }
    }
  }
}

// An op that reads what stands on chip moves fewer bytes than its operands have, one that reads
// rows again and again more.
void SetBound(const InspectedPlan& plan, OpExplanation& why) {
  const OpInfo& info = plan.info().ops[why.op];
  const int64_t moved_bytes = why.report.dram_read_bytes + why.report.dram_write_bytes;
  why.bound_dram_cycles =
      PeakDramCycles(std::min(moved_bytes, info.min_dram_bytes), plan.info().config.dram);
  why.bound_cycles = std::max(info.mapped_cycles, why.bound_dram_cycles);
}

EngineKind MainEngine(const OpExplanation& why) {
  EngineKind main = EngineKind::kDma;
  int64_t most_cycles = 0;
  for (const EngineKind kind : {EngineKind::kMatrix, EngineKind::kVector, EngineKind::kHost}) {
    if (why.time(kind).command_count == 0 || why.time(kind).busy_cycles < most_cycles) continue;
    if (main != EngineKind::kDma && why.time(kind).busy_cycles == most_cycles) continue;
    main = kind;
    most_cycles = why.time(kind).busy_cycles;
  }
  return main;
}

// Transfers themselves, or what comes before them?
OpLimit LimitOfTransfers(const OpTime& dma) {
  const auto stall = [&](StallCause cause) { return dma.stall_cycles[static_cast<size_t>(cause)]; };
  const int64_t crossing = dma.busy_cycles - dma.set_up_cycles + stall(StallCause::kBandwidth);
  return crossing >= dma.set_up_cycles + stall(StallCause::kLatency) ? OpLimit::kBandwidth
                                                                     : OpLimit::kLatency;
}

// By the greatest account of the main engine.
OpLimit LimitOf(const OpExplanation& why) {
  const OpTime& time = why.time(why.main);
  if (time.command_count == 0) return OpLimit::kNothing;
  if (why.main == EngineKind::kDma) return LimitOfTransfers(time);
  if (why.bus_cycles > time.total_cycles()) return OpLimit::kBandwidth;
  const auto greatest = std::max_element(time.stall_cycles.begin(), time.stall_cycles.end());
  if (*greatest <= time.busy_cycles) return OpLimit::kCompute;
  switch (static_cast<StallCause>(greatest - time.stall_cycles.begin())) {
    case StallCause::kDependencyDma:
      return LimitOfTransfers(why.time(EngineKind::kDma));
    case StallCause::kBankConflict:
      return OpLimit::kConflicts;
    default:
      return OpLimit::kOtherUnit;
  }
}

}  // namespace

int64_t OpTime::total_cycles() const {
  return std::accumulate(stall_cycles.begin(), stall_cycles.end(), busy_cycles);
}

std::optional<uint32_t> FindOp(const InspectedPlan& plan, const std::string& name) {
  const std::vector<OpInfo>& ops = plan.info().ops;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (ops[op].name == name) return static_cast<uint32_t>(op);
  }
  return std::nullopt;
}

absl::StatusOr<OpExplanation> ExplainOp(const InspectedPlan& plan, uint32_t op) {
  const ProgramView& program = plan.program();
  const NpuConfig& config = plan.info().config;
  OpExplanation why;
  why.op = op;
  why.segment = SegmentOf(plan, op);
  why.buffers = BuffersOf(plan, op);
  why.proved = VerifyProgram(program, config);
  if (!why.proved.ok()) return why;
  TimingOptions options;
  options.record_commands = true;
  BERTH_ASSIGN_OR_RETURN(const SimReport report, SimulateTiming(program, config, options));
  why.makespan_cycles = report.makespan_cycles;
  if (op < report.ops.size()) why.report = report.ops[op];
  AddTimes(program, report, why);
  SetBound(plan, why);
  why.main = MainEngine(why);
  why.cycles = std::max(why.time(why.main).total_cycles(), why.bus_cycles);
  why.limit = LimitOf(why);
  return why;
}

}  // namespace berth
