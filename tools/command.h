// The subcommands of `berth`. Each adds its flags to the application and, when it is the one
// called, leaves what to do in `action`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.h"

namespace berth {

using CommandAction = std::function<absl::Status()>;

void AddCompileCommand(CLI::App& app, CommandAction& action);
void AddRunCommand(CLI::App& app, CommandAction& action);
void AddCheckCommand(CLI::App& app, CommandAction& action);
void AddQuantizeCommand(CLI::App& app, CommandAction& action);
void AddInspectCommand(CLI::App& app, CommandAction& action);
void AddVerifyCommand(CLI::App& app, CommandAction& action);
void AddSimulateCommand(CLI::App& app, CommandAction& action);
void AddPlaceCommand(CLI::App& app, CommandAction& action);
void AddOrderCommand(CLI::App& app, CommandAction& action);
void AddLayerCommand(CLI::App& app, CommandAction& action);
void AddDramCommand(CLI::App& app, CommandAction& action);
void AddTargetsCommand(CLI::App& app, CommandAction& action);
void AddDemoCommand(CLI::App& app, CommandAction& action);
void AddBenchCommand(CLI::App& app, CommandAction& action);

}  // namespace berth
