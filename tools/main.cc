// berth: the command line. Exit status 0: done; 1: it failed; 2: called wrongly.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "planner/onnx/text.h"
#include "tools/command.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr size_t kLongestMessage = 4000;

// Names in models and files may hold anything; a message is one line.
int Fail(std::string_view message, int code) {
  fmt::print(stderr, "berth: {}\n", berth::OneLine(message, kLongestMessage));
  return code;
}

int UsageError(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string command = "berth";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  if (at == &app && argc > 1 && argv[1][0] != '-') {
    return Fail(fmt::format("usage: unknown subcommand '{}' (see berth --help)", argv[1]), kUsage);
  }
  return Fail(fmt::format("usage: {} (see {} --help)", error.what(), command), kUsage);
}

int RunCommandLine(int argc, char** argv) {
  CLI::App app{"Berth: plans, runs and simulates models on a scratchpad NPU"};
  app.name("berth");
  app.require_subcommand(1);
  berth::CommandAction action;
  berth::AddDemoCommand(app, action);
  berth::AddCompileCommand(app, action);
  berth::AddRunCommand(app, action);
  berth::AddCheckCommand(app, action);
  berth::AddQuantizeCommand(app, action);
  berth::AddInspectCommand(app, action);
  berth::AddVerifyCommand(app, action);
  berth::AddSimulateCommand(app, action);
  berth::AddPlaceCommand(app, action);
  berth::AddOrderCommand(app, action);
  berth::AddLayerCommand(app, action);
  berth::AddDramCommand(app, action);
  berth::AddTargetsCommand(app, action);
  berth::AddBenchCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : UsageError(app, error, argc, argv);
  }
  const absl::Status status = action();
  if (!status.ok()) {
    std::fflush(stdout);
    return Fail(berth::ToStd(status.message()), kFailed);
  }
  // A full disk behind `> file` shows here at the latest.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail("cannot write to the standard output", kFailed);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return RunCommandLine(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail("out of memory", kFailed);
  } catch (const std::exception& error) {
    return Fail(fmt::format("unexpected error: {}", error.what()), kFailed);
  }
}
