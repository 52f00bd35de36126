// berth run BUNDLE
#include <algorithm>
#include <memory>

#include "berth/context.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/model_io.h"
#include "tools/progress.h"
#include "tools/report_text.h"
#include "tools/run_trace.h"
#include "tools/stopwatch.h"
#include "tools/write_file.h"

namespace berth {
namespace {

struct Flags {
  std::string bundle, output_directory, trace, mode = "both";
  std::vector<std::string> inputs;
  int threads = 2;
  int repeat = 1;
  uint64_t seed = 1;
  bool json = false, trusted = false;
};

absl::Status Run(const Flags& flags) {
  Progress progress(fmt::format("verifying '{}'", flags.bundle));
  const Stopwatch load_watch;
  BERTH_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Program> program,
      Program::Load(flags.bundle, flags.trusted ? LoadLevel::kTrusted : LoadLevel::kFull));
  const double load_ms = load_watch.Milliseconds();
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = flags.threads;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, context_options));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(program->inputs(), flags.inputs, flags.seed));
  std::vector<Tensor> outputs = MakeOutputs(program->outputs());
  const std::vector<ConstTensorView> input_views = Views(inputs);
  const std::vector<TensorView> output_views = MutableViews(outputs);
  RunOptions options;
  options.mode = flags.mode == "values"   ? RunMode::kValues
                 : flags.mode == "cycles" ? RunMode::kCycles
                                          : RunMode::kBoth;
  HostTimeline timeline;
  if (!flags.trace.empty()) {
    options.record_commands = true;
    options.timeline = &timeline;
  }
  SimReport report;
  std::vector<double> run_ms;
  for (int i = 0; i < flags.repeat; ++i) {
    progress.Say(fmt::format("running '{}', {} of {}", flags.bundle, i + 1, flags.repeat));
    const Stopwatch watch;
    BERTH_RETURN_IF_ERROR(context->Run(input_views, output_views, options, &report));
    run_ms.push_back(watch.Milliseconds());
  }
  std::sort(run_ms.begin(), run_ms.end());
  if (!flags.output_directory.empty() && options.mode != RunMode::kCycles) {
    BERTH_RETURN_IF_ERROR(WriteOutputs(flags.output_directory, outputs));
  }
  if (!flags.trace.empty()) {
    progress.Say(fmt::format("writing '{}'", flags.trace));
    BERTH_RETURN_IF_ERROR(
        WriteFile(flags.trace, TraceJson(program->bundle().program(), program->bundle().info(),
                                         report, timeline.Finish())));
  }
  progress.Stop();
  const double median_ms = run_ms[run_ms.size() / 2];
  const BundleContents& info = program->bundle().info();
  if (flags.json) {
    nlohmann::ordered_json json;
    AddPlanJson(info, json);
    if (options.mode != RunMode::kValues) AddReportJson(report, info, json);
    json["load_ms"] = load_ms;
    json["run_ms"] = median_ms;
    PrintJson(json);
    return absl::OkStatus();
  }
  if (options.mode != RunMode::kValues) fmt::print("{}", ReportText(report, info));
  fmt::print("Host time {:.2f} ms (median of {}), {} thread(s)\n", median_ms, flags.repeat,
             flags.threads);
  return absl::OkStatus();
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("run", "Run a bundle on the simulated machine");
  command->add_option("bundle", flags->bundle, "Bundle file")->required();
  command->add_option("--input", flags->inputs,
                      "name=file.npy or position=file.npy; random values where not given");
  command->add_option("--output-dir", flags->output_directory,
                      "Write output_0.npy, output_1.npy, ... there");
  command->add_option("--trace", flags->trace,
                      "Write the (last) run as a trace for Perfetto or chrome://tracing");
  command->add_option("--mode", flags->mode, "values, cycles or both")
      ->check(CLI::IsMember({"values", "cycles", "both"}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--repeat", flags->repeat, "Runs; the median time is reported")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of random inputs")->capture_default_str();
  command->add_flag("--trusted", flags->trusted, "Skip the proof: the file was verified before");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
