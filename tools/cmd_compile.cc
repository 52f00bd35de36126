// berth compile MODEL -o OUT.berth
#include <memory>

#include "runtime/bundle/bundle.h"
#include "tools/compile_flags.h"
#include "tools/half_error.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/report_text.h"
#include "tools/search_progress.h"

namespace berth {
namespace {

struct Flags {
  std::string model, output;
  CompileFlags compile;
  uint64_t seed = 1;
  bool no_error_report = false;
  bool json = false;
};

// A model that does not run on random inputs has its plan all the same.
void ReportHalfError(const Flags& flags, const CompileOptions& options, Progress& progress,
                     nlohmann::ordered_json& json, std::string& text) {
  if (options.float_storage == DType::kFloat32 || flags.no_error_report) return;
  progress.Say(fmt::format("comparing '{}' with float32", flags.model));
  const absl::StatusOr<HalfError> error =
      MeasureHalfError(flags.model, flags.output, options, flags.seed);
  if (error.ok()) {
    AddHalfErrorJson(*error, json);
    text += HalfErrorText(*error);
    return;
  }
  const std::string why(ToStd(error.status().message()));
  json["error_report"] = why;
  text += fmt::format("  error against float32 not measured: {}\n", why);
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(CompileOptions options, ToCompileOptions(flags.compile));
  const std::string what = fmt::format("planning '{}'", flags.model);
  Progress progress(what);
  ShowSearch(what, progress, options);
  BERTH_ASSIGN_OR_RETURN(const BundleContents contents, CompileModel(flags.model, options));
  BERTH_RETURN_IF_ERROR(WriteBundle(flags.output, contents));
  nlohmann::ordered_json json;
  AddPlanJson(contents, json);
  std::string text = PlanText(contents);
  options.progress = nullptr;
  // Random inputs need shapes.
  if (!contents.dynamic) ReportHalfError(flags, options, progress, json, text);
  progress.Stop();
  if (flags.json) {
    json["bundle"] = flags.output;
    PrintJson(json);
  } else {
    fmt::print("{}Wrote '{}'\n", text, flags.output);
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
  command->add_option("--seed", flags->seed, "Of the random inputs of the error report")
      ->capture_default_str();
  command->add_flag("--no-error-report", flags->no_error_report,
                    "With --dtype fp16 or bf16: do not run the plan beside one in float32");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
