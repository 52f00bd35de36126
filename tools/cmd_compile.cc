// berth compile MODEL -o OUT.berth
#include <memory>

#include "runtime/bundle/bundle.h"
#include "tools/compile_flags.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/report_text.h"

namespace berth {
namespace {

struct Flags {
  std::string model, output;
  CompileFlags compile;
  bool json = false;
};

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const CompileOptions options, ToCompileOptions(flags.compile));
  Progress progress(fmt::format("planning '{}'", flags.model));
  BERTH_ASSIGN_OR_RETURN(const BundleContents contents, CompileModel(flags.model, options));
  BERTH_RETURN_IF_ERROR(WriteBundle(flags.output, contents));
  progress.Stop();
  if (flags.json) {
    nlohmann::ordered_json json;
    AddPlanJson(contents, json);
    json["bundle"] = flags.output;
    PrintJson(json);
  } else {
    fmt::print("{}Wrote '{}'\n", PlanText(contents), flags.output);
  }
  return absl::OkStatus();
}

}  // namespace

void AddCompileCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("compile", "Plan a model: write a bundle");
  command->add_option("model", flags->model, "ONNX or TFLite file")->required();
  command->add_option("-o,--output", flags->output, "Bundle to write")->required();
  AddCompileFlags(*command, flags->compile);
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
