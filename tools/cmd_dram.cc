// berth dram --pattern sequential|rows|streams|random
#include <map>
#include <memory>

#include "tools/command.h"
#include "tools/dram_stream.h"
#include "tools/json_output.h"

namespace berth {
namespace {

struct Flags {
  DramStream stream;
  std::string target = "mobile";
  bool json = false;
};

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const NpuConfig config, LoadTarget(flags.target));
  BERTH_ASSIGN_OR_RETURN(const DramFigures figures, MeasureDram(flags.stream, config));
  if (flags.json) {
    PrintJson({{"target", config.name},
               {"bytes_per_cycle", figures.bytes_per_cycle},
               {"bus_fraction", figures.bus_fraction},
               {"latency_cycles", figures.latency_cycles},
               {"makespan_cycles", figures.makespan_cycles},
               {"dram_read_bytes", figures.read_bytes},
               {"dram_write_bytes", figures.write_bytes},
               {"bursts", figures.bursts}});
    return absl::OkStatus();
  }
  fmt::print(
      "DRAM of '{}': {} bytes in {} cycles\n"
      "  {:.3f} bytes a cycle; {:.1f} % of the bus taken by {} bursts of {} bytes\n"
      "  latency of an idle access: {} cycles\n",
      config.name, figures.bytes, figures.makespan_cycles, figures.bytes_per_cycle,
      100.0 * figures.bus_fraction, figures.bursts, config.dram.burst_bytes,
      figures.latency_cycles);
  return absl::OkStatus();
}

}  // namespace

void AddDramCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("dram", "Bandwidth and latency of a machine's DRAM by access pattern");
  const std::map<std::string, DramPattern> patterns = {{"sequential", DramPattern::kSequential},
                                                       {"rows", DramPattern::kRows},
                                                       {"streams", DramPattern::kStreams},
                                                       {"random", DramPattern::kRandom}};
  DramStream& stream = flags->stream;
  command->add_option("--pattern", stream.pattern, "sequential, rows, streams or random")
      ->required()
      ->transform(CLI::CheckedTransformer(patterns));
  command->add_option("--bytes", stream.bytes, "Of each stream")->capture_default_str();
  command->add_option("--row-bytes", stream.row_bytes, "rows: of each row")->capture_default_str();
  command->add_option("--pitch-bytes", stream.pitch_bytes, "rows: from row to row")
      ->capture_default_str();
  command->add_option("--streams", stream.streams, "streams: how many, each on its own channel")
      ->capture_default_str();
  command
      ->add_option("--chunk-bytes", stream.chunk_bytes,
                   "Of one descriptor (0: streams 2048, random one burst, else everything)")
      ->capture_default_str();
  command
      ->add_option("--write-share", stream.write_share,
                   "Share of writes among streams, chunks or rows")
      ->capture_default_str();
  command->add_option("--target", flags->target, "Machine: a preset or a .json file")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
