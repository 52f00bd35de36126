// berth targets [NAME]
#include <memory>

#include "npu_sim/config.h"
#include "tools/command.h"
#include "tools/json_output.h"

namespace berth {
namespace {

struct Flags {
  std::string name;
  bool json = false;
};

absl::Status PrintOne(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const NpuConfig config, LoadTarget(flags.name));
  const auto json = nlohmann::ordered_json::parse(ToJson(config));
  if (flags.json) {
    PrintJson(json);
  } else {
    fmt::print("{}\n", json.dump(2));
  }
  return absl::OkStatus();
}

void PrintAll(const Flags& flags) {
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const PresetInfo& preset : ListPresets()) {
    if (flags.json) {
      targets.push_back({{"name", preset.name}, {"description", preset.description}});
    } else {
      fmt::print("{:<16} {}\n", preset.name, preset.description);
    }
  }
  if (flags.json) PrintJson({{"targets", std::move(targets)}});
}

absl::Status Run(const Flags& flags) {
  if (!flags.name.empty()) return PrintOne(flags);
  PrintAll(flags);
  return absl::OkStatus();
}

}  // namespace

void AddTargetsCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("targets", "List the machine presets, or print one");
  command->add_option(
      "name", flags->name,
      "A preset or a .json file: printed whole, as a start for a file of one's own");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
