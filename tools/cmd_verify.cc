// berth verify BUNDLE
#include <memory>

#include "npu_sim/access.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/sections.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/progress.h"

namespace berth {
namespace {

struct Flags {
  std::string bundle;
  bool json = false;
};

// How much the proof had to go through.
struct Proved {
  bool is_dynamic = false;  // a graph; programs are proved as they are made
  size_t node_count = 0;
  size_t section_count = 0, section_bytes = 0;
  size_t command_count = 0, access_count = 0, wait_count = 0, slot_count = 0;
  size_t conflict_edge_count = 0, output_count = 0;
};

absl::StatusOr<Proved> Prove(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Bundle> bundle,
                         Bundle::Open(path, LoadLevel::kFull));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  BERTH_ASSIGN_OR_RETURN(const Sections sections, ReadSections(file->bytes()));
  Proved proved;
  proved.section_count = sections.bytes.size();
  for (const auto& section : sections.bytes) proved.section_bytes += section.size();
  if (const auto& dynamic = bundle->info().dynamic) {
    proved.is_dynamic = true;
    proved.node_count = dynamic->graph->nodes.size();
  }
  const ProgramView& program = bundle->program();
  proved.command_count = program.commands.size();
  for (const Command& command : program.commands) {
    proved.access_count += static_cast<size_t>(CollectAccesses(command).count);
  }
  proved.wait_count = program.waits.size();
  proved.slot_count = program.slots.size();
  proved.conflict_edge_count = bundle->conflicts().successors.size();
  proved.output_count = bundle->info().outputs.size();
  return proved;
}

void PrintText(const std::string& path, const Proved& p) {
  if (p.is_dynamic) {
    fmt::print(
        "'{}' is well formed; programs are proved safe as they are made for a shape\n"
        "  {:>9} sections with the hash that they were written with ({} bytes)\n"
        "  {:>9} nodes of known ops, each value made before it is read\n",
        path, p.section_count, p.section_bytes, p.node_count);
    return;
  }
  fmt::print(
      "'{}' is proved safe\n"
      "  {:>9} sections with the hash that they were written with ({} bytes)\n"
      "  {:>9} commands well formed, each on an engine that executes it\n"
      "  {:>9} accesses inside their buffers, no byte read before it was written\n"
      "  {:>9} buffers, no two in the same bytes at the same time\n"
      "  {:>9} waits, each for an earlier command: no deadlock\n"
      "  {:>9} edges between commands: any two that meet in a byte are ordered\n"
      "  {:>9} outputs written whole\n",
      path, p.section_count, p.section_bytes, p.command_count, p.access_count, p.slot_count,
      p.wait_count, p.conflict_edge_count, p.output_count);
}

absl::Status Run(const Flags& flags) {
  const Progress progress(fmt::format("verifying '{}'", flags.bundle));
  absl::StatusOr<Proved> proved = Prove(flags.bundle);
  if (!proved.ok()) return proved.status();
  if (!flags.json) {
    PrintText(flags.bundle, *proved);
    return absl::OkStatus();
  }
  PrintJson({{"bundle", flags.bundle},
             {"verified", true},
             {"is_dynamic", proved->is_dynamic},
             {"nodes", proved->node_count},
             {"sections", proved->section_count},
             {"section_bytes", proved->section_bytes},
             {"commands", proved->command_count},
             {"accesses", proved->access_count},
             {"buffers", proved->slot_count},
             {"waits", proved->wait_count},
             {"conflicts", proved->conflict_edge_count},
             {"outputs", proved->output_count}});
  return absl::OkStatus();
}

}  // namespace

void AddVerifyCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("verify", "Prove a bundle safe: every hash, the whole program");
  command->add_option("bundle", flags->bundle, "Bundle file")->required();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
