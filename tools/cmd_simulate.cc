// berth simulate PROGRAM.txt: a tile program as text, proved and timed on a machine.
#include <algorithm>
#include <memory>

#include "base/checked_math.h"
#include "base/write_file.h"
#include "npu_sim/program_text.h"
#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "runtime/bundle/mapping.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/report_text.h"
#include "tools/run_trace.h"

namespace berth {
namespace {

struct Flags {
  std::string file, target = "mobile", trace;
  bool json = false;
};

absl::StatusOr<TileProgram> ReadProgram(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  absl::StatusOr<TileProgram> program =
      ParseProgramText({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
  if (!program.ok()) return Annotate(program.status(), fmt::format("'{}'", path));
  return program;
}

// What the program asks for, at the full rate of the array and of DRAM.
int64_t LowerBoundCycles(const SimReport& report, const NpuConfig& config) {
  return std::max(CeilDiv(report.weighted_macs, config.matrix.int8_macs_per_cycle),
                  PeakDramCycles(report.dram_read_bytes + report.dram_write_bytes, config.dram));
}

// A program has numbers of ops only; those that are no lower than its commands are many stay
// without a name.
BundleContents ContentsFor(const std::string& name, const TileProgram& program,
                           const NpuConfig& config) {
  BundleContents contents;
  contents.model_name = name;
  contents.config = config;
  size_t op_count = 0;
  for (const Command& command : program.commands) {
    if (command.op < program.commands.size()) {
      op_count = std::max(op_count, size_t{command.op} + 1);
    }
  }
  for (size_t op = 0; op < op_count; ++op) {
    contents.ops.emplace_back();
    contents.ops.back().name = fmt::format("op {}", op);
  }
  return contents;
}

void PrintText(const Flags& flags, const TileProgram& program, const SimReport& report,
               const NpuConfig& config) {
  const int64_t bound_cycles = LowerBoundCycles(report, config);
  fmt::print(
      "'{}' is proved safe on '{}': {} commands, {} buffers\n"
      "  makespan    {:>12} cycles ({:.3f} ms)  lower bound {} ({:.2f} x)\n"
      "  DRAM        {:>12} bytes\n"
      "  scratchpad  {:>12} bytes of {}\n"
      "  accumulator {:>12} bytes of {}\n"
      "  MACs        {:>12}    matrix unit used {:.1f} %\n{}",
      flags.file, config.name, report.command_count, program.slots.size(), report.makespan_cycles,
      static_cast<double>(report.makespan_cycles) / (static_cast<double>(config.clock_mhz) * 1e3),
      bound_cycles,
      bound_cycles == 0
          ? 0.0
          : static_cast<double>(report.makespan_cycles) / static_cast<double>(bound_cycles),
      report.dram_read_bytes + report.dram_write_bytes, program.scratchpad_bytes,
      config.scratchpad.size_bytes, program.accumulator_bytes, config.accumulator.size_bytes,
      report.macs, 100.0 * MatrixUtilization(report, config.matrix.int8_macs_per_cycle),
      EnginesText(report));
  if (!flags.trace.empty()) fmt::print("Wrote '{}'\n", flags.trace);
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const NpuConfig config, LoadTarget(flags.target));
  Progress progress(fmt::format("verifying '{}'", flags.file));
  BERTH_ASSIGN_OR_RETURN(const TileProgram program, ReadProgram(flags.file));
  const absl::Status verified = VerifyProgram(program.view(), config);
  if (!verified.ok()) return Annotate(verified, fmt::format("'{}'", flags.file));
  TimingOptions options;
  options.record_commands = !flags.trace.empty();
  BERTH_ASSIGN_OR_RETURN(const SimReport report, SimulateTiming(program.view(), config, options));
  if (!flags.trace.empty()) {
    const BundleContents contents = ContentsFor(flags.file, program, config);
    BERTH_RETURN_IF_ERROR(WriteFile(flags.trace, TraceJson(program.view(), contents, report, {})));
  }
  progress.Stop();
  if (!flags.json) {
    PrintText(flags, program, report, config);
    return absl::OkStatus();
  }
  nlohmann::ordered_json json = {{"program", flags.file},
                                 {"target", config.name},
                                 {"verified", true},
                                 {"scratchpad_peak_bytes", program.scratchpad_bytes},
                                 {"accumulator_peak_bytes", program.accumulator_bytes}};
  json.update(
      nlohmann::ordered_json::parse(ReportToJson(report, config.matrix.int8_macs_per_cycle)));
  json["cycles_lower_bound"] = LowerBoundCycles(report, config);
  PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

void AddSimulateCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("simulate", "Prove a tile program in text form safe, and time it");
  command->add_option("program", flags->file, "Program as text (docs/program.md)")->required();
  command->add_option("--target", flags->target, "Machine: a preset or a .json file")
      ->capture_default_str();
  command->add_option("--trace", flags->trace,
                      "Write the simulation as a trace for Perfetto or chrome://tracing");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
