#include "tools/run_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fmt/format.h"
#include "npu_sim/timing.h"
#include "tools/inspect_slot_cycles.h"

namespace berth {
namespace {

constexpr int kMachine = 1, kHost = 2;  // processes

std::string Quoted(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Chrome's names of colours; Perfetto colours by the name of the event instead.
std::string_view ColourOf(StallCause cause) {
  switch (cause) {
    case StallCause::kDependencyDma:
      return "thread_state_iowait";
    case StallCause::kDependencyMatrix:
      return "thread_state_runnable";
    case StallCause::kDependencyVector:
      return "thread_state_sleeping";
    case StallCause::kDependencyHost:
      return "thread_state_unknown";
    case StallCause::kBankConflict:
      return "terrible";
    case StallCause::kBandwidth:
      return "bad";
    case StallCause::kLatency:
      return "yellow";
    case StallCause::kQueueEmpty:
    case StallCause::kNone:
      break;
  }
  return "grey";
}

struct Counter {
  int64_t cycle = 0;
  int64_t change = 0;
};

class Writer {
 public:
  Writer(const ProgramView& program, const BundleContents& info, const SimReport& report)
      : program_(program), info_(info), report_(report) {}

  std::string Write(absl::Span<const HostSpan> host_spans) {
    if (report_.commands.size() == program_.commands.size() &&
        report_.accounts.size() == program_.engines.size()) {
      NameProcess(kMachine, "simulated machine (1 us = 1 cycle)");
      for (size_t e = 0; e < program_.engines.size(); ++e) {
        NameLane(kMachine, e, EngineName(program_.engines[e]));
        EngineLane(e);
      }
      ScratchpadCounter();
      DramCounter();
    }
    HostLanes(host_spans);
    return fmt::format(
        R"({{"displayTimeUnit":"ns","otherData":{{"model":{},"target":{},"makespan_cycles":{},)"
        R"("clock_mhz":{}}},"traceEvents":[{}]}})",
        Quoted(info_.model_name), Quoted(info_.config.name), report_.makespan_cycles,
        info_.config.clock_mhz, events_);
  }

 private:
  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    events_ += events_.empty() ? "\n{" : ",\n{";
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
    events_ += '}';
  }
  void NameProcess(int process, std::string_view name) {
    Event(R"("ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":{}}})", process,
          Quoted(name));
  }
  void NameLane(int process, size_t lane, std::string_view name) {
    Event(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})", process,
          lane + 1, Quoted(name));
    Event(R"("ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}})",
          process, lane + 1, lane);
  }

  std::string_view OpName(const Command& command) const {
    return command.op < info_.ops.size() ? std::string_view(info_.ops[command.op].name)
                                         : std::string_view("?");
  }
  static std::string Extents(const Command& c) {
    return fmt::format("{}x{}x{}x{}", c.extent[0], c.extent[1], c.extent[2], c.extent[3]);
  }
  // The engine's accounts one after the other, so that the slices of a lane add up to its report.
  // Each command is there once under its own name: one whose work all lies under that of others
  // (the set-up of a fill behind a long transfer) has a slice without length.
  void EngineLane(size_t engine) {
    std::vector<uint32_t> commands;
    for (uint32_t c = 0; c < program_.commands.size(); ++c) {
      if (program_.commands[c].engine == engine) commands.push_back(c);
    }
    size_t shown = 0;  // of `commands`
    int64_t end_cycle = 0;
    const auto show_before = [&](uint32_t command, int64_t cycle) {
      for (; shown < commands.size() && commands[shown] < command; ++shown) {
        ShowCommand(engine, commands[shown], {cycle, cycle});
      }
    };
    for (const AccountSpan& span : report_.accounts[engine]) {
      const CycleRange cycles{span.begin_cycle, span.end_cycle};
      end_cycle = cycles.end;
      show_before(span.command, cycles.begin);
      if (span.cause != StallCause::kNone) {
        ShowStall(engine, cycles, span.cause);
      } else if (span.is_set_up) {
        ShowPhase(engine, cycles, span.command, "set-up");
      } else if (shown < commands.size() && commands[shown] == span.command) {
        ShowCommand(engine, span.command, cycles);
        ++shown;
      } else {
        ShowPhase(engine, cycles, span.command, "drain");
      }
    }
    show_before(AccountSpan::kNoCommand, end_cycle);
  }

  void ShowStall(size_t engine, const CycleRange& cycles, StallCause cause) {
    Event(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"stall","name":"stall: {}",)"
          R"("cname":"{}")",
          kMachine, engine + 1, cycles.begin, cycles.end - cycles.begin, StallCauseName(cause),
          ColourOf(cause));
  }

  // A part of a command's work that is apart from the rest.
  void ShowPhase(size_t engine, const CycleRange& cycles, uint32_t number, std::string_view phase) {
    Event(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},)"
          R"("args":{{"command":{}}})",
          kMachine, engine + 1, cycles.begin, cycles.end - cycles.begin, phase,
          Quoted(fmt::format("{}: {}", phase, OpName(program_.commands[number]))), number);
  }

  void ShowCommand(size_t engine, uint32_t number, const CycleRange& shown) {
    const Command& command = program_.commands[number];
    const CommandTiming& timing = report_.commands[number];
    Event(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},)"
          R"("args":{{"command":{},"tile":"{}","start_cycle":{},"finish_cycle":{},)"
          R"("bus_begin_cycle":{},"bus_end_cycle":{},"stall":"{}","stall_cycles":{},"macs":{}}})",
          kMachine, engine + 1, shown.begin, shown.end - shown.begin, OpcodeName(command.opcode),
          Quoted(fmt::format("{}: {}", OpName(command), OpcodeName(command.opcode))), number,
          Extents(command), timing.start_cycle, timing.finish_cycle, timing.bus_begin_cycle,
          timing.bus_end_cycle, StallCauseName(timing.stall_cause), timing.stall_cycles,
          CommandMacs(command));
  }

  // Sorted by cycle, changes of one cycle added up.
  static std::vector<Counter> Merged(std::vector<Counter> changes) {
    std::sort(changes.begin(), changes.end(),
              [](const Counter& a, const Counter& b) { return a.cycle < b.cycle; });
    std::vector<Counter> merged;
    for (const Counter& change : changes) {
      if (!merged.empty() && merged.back().cycle == change.cycle) {
        merged.back().change += change.change;
      } else {
        merged.push_back(change);
      }
    }
    return merged;
  }

  void ScratchpadCounter() {
    const std::vector<CycleRange> cycles = SlotCycles(program_, report_);
    std::vector<Counter> changes;
    for (size_t s = 0; s < program_.slots.size(); ++s) {
      const Slot& slot = program_.slots[s];
      if (slot.space != MemorySpace::kScratchpad || cycles[s].begin == cycles[s].end) continue;
      changes.push_back({cycles[s].begin, slot.size_bytes});
      changes.push_back({cycles[s].end, -slot.size_bytes});
    }
    int64_t bytes = 0;
    for (const Counter& change : Merged(std::move(changes))) {
      bytes += change.change;
      Event(R"("ph":"C","pid":{},"tid":0,"ts":{},"name":"scratchpad bytes","args":{{"bytes":{}}})",
            kMachine, change.cycle, bytes);
    }
  }

  static int64_t Bytes(const Command& c) {
    return int64_t{c.extent[0]} * c.extent[1] * c.extent[2] * c.extent[3] * DTypeBytes(c.out.dtype);
  }

  // Rates are whole thousandths of a byte a cycle, so that what rises also falls to zero.
  void DramCounter() {
    for (const bool is_write : {false, true}) {
      std::vector<Counter> changes;
      for (size_t c = 0; c < program_.commands.size(); ++c) {
        const Command& command = program_.commands[c];
        const CommandTiming& timing = report_.commands[c];
        const int64_t cycles = timing.bus_end_cycle - timing.bus_begin_cycle;
        if (cycles <= 0 || (command.out.space == MemorySpace::kDram) != is_write) continue;
        const int64_t rate = Bytes(command) * 1000 / cycles;
        changes.push_back({timing.bus_begin_cycle, rate});
        changes.push_back({timing.bus_end_cycle, -rate});
      }
      int64_t rate = 0;
      for (const Counter& change : Merged(std::move(changes))) {
        rate += change.change;
        Event(R"("ph":"C","pid":{},"tid":0,"ts":{},"name":"DRAM {} bytes/cycle",)"
              R"("args":{{"bytes_per_cycle":{}.{:03}}})",
              kMachine, change.cycle, is_write ? "write" : "read", rate / 1000, rate % 1000);
      }
    }
  }

  void HostLanes(absl::Span<const HostSpan> spans) {
    if (spans.empty()) return;
    NameProcess(kHost, "host (real time)");
    std::set<uint16_t> workers;
    for (const HostSpan& span : spans) workers.insert(span.worker);
    for (const uint16_t worker : workers) {
      NameLane(kHost, worker, fmt::format("worker {}", worker));
    }
    for (const HostSpan& span : spans) {
      const Command& command = program_.commands[span.command];
      Event(R"("ph":"X","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"cat":"{}","name":{},)"
            R"("args":{{"command":{},"part":{},"tile":"{}"}})",
            kHost, span.worker + 1, span.begin_ns / 1000, span.begin_ns % 1000,
            (span.end_ns - span.begin_ns) / 1000, (span.end_ns - span.begin_ns) % 1000,
            OpcodeName(command.opcode),
            Quoted(fmt::format("{}: {}", OpName(command), OpcodeName(command.opcode))),
            span.command, span.part, Extents(command));
    }
  }

  const ProgramView& program_;
  const BundleContents& info_;
  const SimReport& report_;
  std::string events_;
};

}  // namespace

std::string TraceJson(const ProgramView& program, const BundleContents& info,
                      const SimReport& report, absl::Span<const HostSpan> host_spans) {
  return Writer(program, info, report).Write(host_spans);
}

}  // namespace berth
