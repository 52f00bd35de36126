// berth: the command line. Exit status 0: done; 1: it failed; 2: called wrongly.
#include <cstdio>
#include <exception>

#include <unistd.h>

#include "tools/command.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int RunCommandLine(int argc, char** argv) {
  CLI::App app{"Berth: plans, runs and simulates models on a scratchpad NPU"};
  app.name("berth");
  app.require_subcommand(1);
  berth::CommandAction action;
  berth::AddCompileCommand(app, action);
  berth::AddRunCommand(app, action);
  berth::AddCheckCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  const absl::Status status = action();
  if (status.ok()) return 0;
  fmt::print(stderr, "berth: {}\n", berth::ToStd(status.message()));
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = RunCommandLine(argc, argv);
    std::fflush(stdout);
    // oneDNN, OpenMP and TBB tear down their threads by themselves.
    return code;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "berth: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "berth: unexpected error: {}\n", error.what());
  }
  return kFailed;
}
