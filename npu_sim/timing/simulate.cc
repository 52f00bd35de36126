// The event loop. Engines other than DMA share nothing, so each of their commands is timed as soon
// as its waits are; DMA descriptors meet on the DRAM bus, so the one that is eligible first (over
// all channels) goes first. A command that is not timed yet depends on one that is not either, and
// finishes after it: nothing eligible earlier can still appear.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "npu_sim/timing.h"
#include "npu_sim/timing/cost_cache.h"
#include "npu_sim/timing/engine_clock.h"

namespace berth {
namespace timing {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;
constexpr int64_t kNotOnBus = INT64_MAX;

StallCause DependencyOn(EngineKind kind) {
  switch (kind) {
    case EngineKind::kDma:
      return StallCause::kDependencyDma;
    case EngineKind::kMatrix:
      return StallCause::kDependencyMatrix;
    case EngineKind::kVector:
      return StallCause::kDependencyVector;
    case EngineKind::kHost:
      return StallCause::kDependencyHost;
  }
  return StallCause::kNone;
}

struct Engine {
  EngineKind kind = EngineKind::kDma;
  std::vector<uint32_t> commands;  // positions, in order
  std::vector<int64_t> finish;     // of those that are timed
  uint32_t blocked_count = 0;      // what it waits for has to finish so many
  CommandCost cost;                // DMA: of the next command

  bool done() const { return finish.size() == commands.size(); }
  uint32_t next() const { return commands[finish.size()]; }
};

// What energy is proportional to.
struct Activity {
  int64_t accumulator_bytes = 0, vector_elements = 0, host_bytes = 0;
  std::array<int64_t, 3> macs{};  // int8, 16 bit, fp32
};

class Simulation {
 public:
  Simulation(const ProgramView& program, const NpuConfig& config, const TimingOptions& options)
      : program_(program), options_(options), costs_(config), cache_(costs_) {}

  absl::StatusOr<SimReport> Run() {
    BERTH_RETURN_IF_ERROR(SetUp());
    for (uint32_t e = 0; e < engines_.size(); ++e) runnable_.push_back(e);
    while (true) {
      while (!runnable_.empty()) {
        const uint32_t engine = runnable_.back();
        runnable_.pop_back();
        RunEngine(engine);
      }
      const uint32_t first = FirstOnBus();
      if (first == kNobody) break;
      ServeOnBus(first);
    }
    for (const Engine& engine : engines_) {
      if (!engine.done()) {
        return Internal("deadlock: command {} never starts", engine.next());
      }
    }
    return Finish();
  }

 private:
  absl::Status SetUp() {
    engines_.resize(program_.engines.size());
    report_.engines.resize(engines_.size());
    uint32_t op_count = 0;
    constexpr size_t kAhead = 16;
    for (uint32_t c = 0; c < program_.commands.size(); ++c) {
      const Command& command = program_.commands[c];
      if (c + kAhead < program_.commands.size()) __builtin_prefetch(&command + kAhead);
      if (command.engine >= engines_.size() || command.op >= kMaxOps ||
          command.wait_begin + size_t{command.wait_count} > program_.waits.size()) {
        return Internal("command {} names an engine, op or wait that does not exist", c);
      }
      engines_[command.engine].commands.push_back(c);
      op_count = std::max(op_count, command.op + 1);
    }
    report_.ops.resize(op_count);
    op_started_.resize(op_count);
    if (options_.record_commands) {
      report_.commands.resize(program_.commands.size());
      report_.accounts.resize(engines_.size());
    }
    for (size_t e = 0; e < engines_.size(); ++e) {
      engines_[e].kind = program_.engines[e].kind;
      engines_[e].finish.reserve(engines_[e].commands.size());
      report_.engines[e].engine = program_.engines[e];
      report_.engines[e].command_count = static_cast<int64_t>(engines_[e].commands.size());
      ledgers_.emplace_back(&report_.engines[e],
                            options_.record_commands ? &report_.accounts[e] : nullptr);
      channels_.emplace_back(costs_.config());
    }
    units_.resize(engines_.size());
    blocked_on_.assign(engines_.size(), kNobody);
    eligible_cycles_.assign(engines_.size(), kNotOnBus);
    return absl::OkStatus();
  }

  // When the waits of a command are satisfied; nothing while one of them is not timed yet.
  std::optional<Ready> ReadyOf(uint32_t index, const Command& command) {
    Ready ready;
    uint32_t last = kNobody;
    for (const Wait& wait : program_.waits.subspan(command.wait_begin, command.wait_count)) {
      const uint32_t other = wait.engine;
      if (other >= engines_.size() || wait.count == 0) continue;
      if (engines_[other].finish.size() < wait.count) {
        blocked_on_[index] = other;
        engines_[index].blocked_count = wait.count;
        return std::nullopt;
      }
      const int64_t finish = engines_[other].finish[wait.count - 1];
      if (finish > ready.cycle || (finish == ready.cycle && other < last)) {
        ready = {finish, DependencyOn(engines_[other].kind)};
        last = other;
      }
    }
    return ready;
  }

  // Commands of one engine do not follow each other in memory.
  void Prefetch(const Engine& engine) const {
    constexpr size_t kAhead = 4, kCacheLineBytes = 64;
    const size_t at = engine.finish.size() + kAhead;
    if (at >= engine.commands.size()) return;
    const auto* bytes = reinterpret_cast<const std::byte*>(&program_.commands[engine.commands[at]]);
    for (size_t line = 0; line < sizeof(Command); line += kCacheLineBytes) {
      __builtin_prefetch(bytes + line);
    }
  }

  // Times commands of the engine until one is blocked or competes for the bus.
  void RunEngine(uint32_t index) {
    Engine& engine = engines_[index];
    while (!engine.done() && eligible_cycles_[index] == kNotOnBus) {
      const Command& command = program_.commands[engine.next()];
      Prefetch(engine);
      const std::optional<Ready> ready = ReadyOf(index, command);
      if (!ready) return;
      const CommandCost& cost = cache_.Cost(command);
      if (engine.kind == EngineKind::kDma) {
        engine.cost = cost;
        const int64_t eligible_cycle = channels_[index].Issue(command, cost, *ready);
        if (cost.uses_dram) {
          eligible_cycles_[index] = eligible_cycle;
          return;
        }
        Transfer(index);
      } else {
        Complete(index, cost,
                 [&] { return units_[index].Run(command, cost, *ready, ledgers_[index]); });
      }
    }
  }

  uint32_t FirstOnBus() const {
    const auto first = std::min_element(eligible_cycles_.begin(), eligible_cycles_.end());
    if (first == eligible_cycles_.end() || *first == kNotOnBus) return kNobody;
    return static_cast<uint32_t>(first - eligible_cycles_.begin());
  }

  void ServeOnBus(uint32_t index) {
    eligible_cycles_[index] = kNotOnBus;
    Transfer(index);
    runnable_.push_back(index);
  }

  void Transfer(uint32_t index) {
    const Engine& engine = engines_[index];
    const Command& command = program_.commands[engine.next()];
    Complete(index, engine.cost, [&] {
      return channels_[index].Transfer(command, engine.cost, bus_, ledgers_[index]);
    });
  }

  // Runs the command on its clock, then books it and wakes who waited for it.
  template <typename RunOnClock>
  void Complete(uint32_t index, const CommandCost& cost, RunOnClock&& run) {
    Engine& engine = engines_[index];
    const uint32_t position = engine.next();
    if (options_.record_commands) {
      ledgers_[index].SetCommand(position);
      const auto before = report_.engines[index].stall_cycles;
      const Span span = run();
      Record(position, span, before, report_.engines[index].stall_cycles);
      Count(index, position, cost, span);
    } else {
      Count(index, position, cost, run());
    }
    for (uint32_t e = 0; e < blocked_on_.size(); ++e) {
      if (blocked_on_[e] != index || engine.finish.size() < engines_[e].blocked_count) continue;
      blocked_on_[e] = kNobody;
      if (e != index) runnable_.push_back(e);
    }
  }

  void Count(uint32_t index, uint32_t position, const CommandCost& cost, const Span& span) {
    Engine& engine = engines_[index];
    const Command& command = program_.commands[position];
    engine.finish.push_back(span.finish_cycle);
    report_.makespan_cycles = std::max(report_.makespan_cycles, span.finish_cycle);
    report_.scratchpad_read_bytes += cost.scratchpad_read_bytes;
    report_.scratchpad_write_bytes += cost.scratchpad_write_bytes;
    report_.macs += cost.macs;
    report_.weighted_macs += cost.macs * cost.rate_divisor;
    activity_.accumulator_bytes += cost.accumulator_bytes;
    activity_.vector_elements += cost.vector_elements;
    activity_.host_bytes += cost.host_bytes;
    const int64_t element_bytes = DTypeBytes(command.in0.dtype);
    activity_.macs[element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : 2] += cost.macs;
    CountOp(command, cost, engine.kind, span);
  }

  void CountOp(const Command& command, const CommandCost& cost, EngineKind kind, const Span& span) {
    OpReport& op = report_.ops[command.op];
    if (!op_started_[command.op] || span.start_cycle < op.first_cycle) {
      op.first_cycle = span.start_cycle;
      op_started_[command.op] = true;
    }
    op.last_cycle = std::max(op.last_cycle, span.finish_cycle);
    op.macs += cost.macs;
    const int64_t busy = cost.steady_cycles - cost.bank_conflict_cycles;
    if (kind == EngineKind::kMatrix) op.matrix_busy_cycles += busy;
    if (kind == EngineKind::kVector) op.vector_busy_cycles += busy;
    if (kind == EngineKind::kHost) op.host_busy_cycles += busy;
    if (!cost.uses_dram) return;
    if (cost.dram.is_write) {
      op.dram_write_bytes += cost.dram.bytes;
      report_.dram_write_bytes += cost.dram.bytes;
    } else {
      op.dram_read_bytes += cost.dram.bytes;
      report_.dram_read_bytes += cost.dram.bytes;
    }
  }

  using Stalls = std::array<int64_t, kStallCauseCount>;
  void Record(uint32_t position, const Span& span, const Stalls& before, const Stalls& after) {
    CommandTiming& timing = report_.commands[position];
    timing.start_cycle = span.start_cycle;
    timing.finish_cycle = span.finish_cycle;
    timing.bus_begin_cycle = span.bus_begin_cycle;
    timing.bus_end_cycle = span.bus_end_cycle;
    for (size_t cause = 1; cause < before.size(); ++cause) {  // the greatest; the first of equals
      const int64_t cycles = after[cause] - before[cause];
      if (cycles <= timing.stall_cycles) continue;
      timing.stall_cycles = cycles;
      timing.stall_cause = static_cast<StallCause>(cause);
    }
  }

  SimReport Finish() {
    for (Ledger& ledger : ledgers_) ledger.Close(report_.makespan_cycles);
    report_.command_count = static_cast<int64_t>(program_.commands.size());
    const EnergyConfig& energy = costs_.config().energy;
    const auto total = [](int64_t count, double picojoules) {
      return static_cast<double>(count) * picojoules;
    };
    report_.energy_picojoules = std::llround(
        total(report_.dram_read_bytes + report_.dram_write_bytes, energy.dram_picojoules_per_byte) +
        total(report_.scratchpad_read_bytes + report_.scratchpad_write_bytes,
              energy.scratchpad_picojoules_per_byte) +
        total(activity_.accumulator_bytes, energy.accumulator_picojoules_per_byte) +
        total(activity_.macs[0], energy.int8_mac_picojoules) +
        total(activity_.macs[1], energy.fp16_mac_picojoules) +
        total(activity_.macs[2], energy.fp32_mac_picojoules) +
        total(activity_.vector_elements, energy.vector_picojoules_per_element) +
        total(activity_.host_bytes, energy.host_picojoules_per_byte));
    return std::move(report_);
  }

  const ProgramView& program_;
  const TimingOptions& options_;
  const CostModel costs_;
  CostCache cache_;
  std::vector<Engine> engines_;
  std::vector<UnitClock> units_;        // by engine; those of DMA stand unused
  std::vector<ChannelClock> channels_;  // by engine; those of units stand unused
  std::vector<Ledger> ledgers_;
  // By engine, and apart from it, since all are looked at for every command:
  std::vector<uint32_t> blocked_on_;      // an engine, or nobody
  std::vector<int64_t> eligible_cycles_;  // of a command that waits for its turn on the bus
  std::vector<uint32_t> runnable_;
  std::vector<bool> op_started_;
  DramBus bus_;
  Activity activity_;
  SimReport report_;
};

}  // namespace
}  // namespace timing

absl::StatusOr<SimReport> SimulateTiming(const ProgramView& program, const NpuConfig& config,
                                         const TimingOptions& options) {
  return timing::Simulation(program, config, options).Run();
}

}  // namespace berth
